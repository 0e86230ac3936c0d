import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Stop } from "./CallWatch.ts";
import { linedText } from "./linedText.ts";
import { personsFiles, versionedFiles } from "./paths.ts";
import { Person } from "./Person.ts";
import { readTree } from "./readTree.ts";
import { TraceFile } from "./trace/TraceFile.ts";
import type { Place, TraceLine } from "./trace/TraceLine.ts";
import type { WorkerOptions } from "./worker.ts";

export interface LifeOptions {
  /** The bundled worker. */
  readonly program: string;
  readonly directory: string;
  readonly seed: number;
  readonly random: () => number;
  /** How many kills are left to make, in all lives. */
  readonly budget: { left: number };
  /** Whether a person edits meanwhile. */
  readonly withPerson: boolean;
  readonly rollbacks: number;
}

/** A life without more kills than this makes no progress. */
const maxProcesses = 60;
const mostKills = 15;
/** The longest time between a place and a kill by the parent, and between two edits of the person, in milliseconds. */
const longestMs = { kill: 12, edit: 20 };

const running = new Set<ChildProcess>();

/** Leaves no process behind when a test fails. */
export function killRunning(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** The life of an agent, in processes that are killed, while a person edits. Resolves to its trace. */
export async function liveUnderKills(options: LifeOptions): Promise<readonly TraceLine[]> {
  const { directory, random, withPerson } = options;
  const root = join(directory, "root");
  for (const folder of ["root/own", "root/d", "root/versions", "spare"])
    mkdirSync(join(directory, folder), { recursive: true });
  const trace = new TraceFile(join(directory, "trace"));
  const person = new Person(root, join(directory, "spare"), trace, random);
  for (const path of [...personsFiles, "a", "b", "d/e", ...versionedFiles]) person.save(path, linedText("start"));
  const editing = new AbortController();
  const edits = withPerson ? editAgainAndAgain(person, random, editing.signal) : undefined;
  try {
    await live(options, trace);
  } finally {
    editing.abort();
    await edits;
  }
  return trace.read();
}

async function editAgainAndAgain(person: Person, random: () => number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    person.edit();
    await delay(random() * longestMs.edit);
  }
}

async function live(options: LifeOptions, trace: TraceFile): Promise<void> {
  const { directory, random, budget } = options;
  let kills = 0;
  for (let processes = 1; processes <= maxProcesses; processes++) {
    const isKilled = budget.left > 0 && kills < mostKills;
    if (isKilled) budget.left--;
    const stop = isKilled ? stopFor(trace.read(), random) : undefined;
    const end = await oneProcess(options, Math.floor(random() * 2 ** 31), stop);
    if (!end.killed) {
      if (isKilled) budget.left++;
      if (end.exitCode !== 0) throw new Error(`A process ended with ${end.exitCode}, see ${directory}.`);
      return;
    }
    kills++;
    const place = trace.read().findLast((line) => line.kind === "enters")?.place ?? "run";
    trace.add({ kind: "killed", place });
    trace.add({ kind: "seeing" });
    trace.add({ kind: "found", files: readTree(join(directory, "root")) });
  }
  throw new Error(`The life makes no progress, see ${directory}.`);
}

/** A place that the next process comes to. */
function stopFor(lines: readonly TraceLine[], random: () => number): Stop {
  const last = lines.findLast(({ kind }) => kind === "rollsBack" || kind === "rolledBack");
  const isOpen = last?.kind === "rollsBack";
  const places: readonly Place[] = isOpen
    ? ["rollback", "restore", "restore", "capture", "commit", "tool"]
    : ["capture", "capture", "capture", "commit", "commit", "tool", "tool", "restore", "rollback"];
  const place = places[Math.floor(random() * places.length)] ?? "run";
  const passes = Math.floor(random() * (place === "restore" || place === "rollback" ? 1 : 3));
  if (random() < 0.4) return { place, passes };
  return { place, passes, calls: 1 + Math.floor(random() * (place === "capture" ? 100 : 40)) };
}

async function oneProcess(
  { program, directory, seed, random, rollbacks }: LifeOptions,
  choices: number,
  stop: Stop | undefined,
): Promise<{ readonly killed: boolean; readonly exitCode: number | null }> {
  const told: WorkerOptions = { directory, seed, choices, rollbacks, ...(stop && { stop }) };
  const child = spawn(process.execPath, [program, JSON.stringify(told)], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const ended = once(child, "close");
  child.stdout.on("data", (text: Buffer) => {
    if (text.includes("here")) setTimeout(() => child.kill("SIGKILL"), random() * longestMs.kill);
  });
  await ended;
  running.delete(child);
  return { killed: child.signalCode === "SIGKILL", exitCode: child.exitCode };
}
