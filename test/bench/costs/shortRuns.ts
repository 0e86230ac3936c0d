import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Target } from "../targets.ts";

const program = fileURLToPath(new URL("./shortRun.ts", import.meta.url));
const syncs = /\b(?:fsync|fdatasync)\(/;

/** The calls of short runs to the operating system that name the folder of their storage, counted by strace. */
export function shortRuns(directory: string): Target[] {
  const [storage, mark, trace] = ["storage", "mark", "trace"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const options = ["-f", "-y", "-qq", "-e", "trace=%file,%desc", "-o", trace];
  const command = [...options, process.execPath, "--import", "tsx", program, storage, mark];
  const { status, error } = spawnSync("strace", command);
  if (error !== undefined) return [];
  if (status !== 0) throw new Error("The traced runs failed.");
  // `-f` reports a call that another thread interrupts in two lines.
  const lines = readFileSync(trace, "utf8")
    .split("\n")
    .filter((line) => !line.includes("resumed>") && !line.includes("execve("));
  const later = lines.findIndex((line) => line.includes(mark));
  return [
    ...targetsOf("the first run of a storage", callsIn(lines.slice(0, later), storage)),
    ...targetsOf("a later run of one process", callsIn(lines.slice(later), storage)),
  ];
}

function callsIn(lines: readonly string[], storage: string): readonly string[] {
  return lines.filter((line) => line.includes(storage));
}

function targetsOf(run: string, calls: readonly string[]): Target[] {
  const name = `${run} with one model request on files:`;
  return [
    { name: `${name} calls to the file system`, found: calls.length, atMost: 25, unit: "" },
    { name: `${name} syncs`, found: calls.filter((line) => syncs.test(line)).length, atMost: 4, unit: "" },
  ];
}
