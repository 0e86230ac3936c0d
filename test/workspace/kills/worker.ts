import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AIAgent, Persistence, persistence, strategy, tool, type AgentContext } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import {
  type FileConflict,
  type FileResolution,
  OptimisticLock,
  Reservations,
  Workspace,
} from "agent-persistence/workspace";
import { z } from "zod";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { agentsWork, carryOut, type CommandStep, pathsOf } from "./agentsWork.ts";
import { CallWatch, type Stop } from "./CallWatch.ts";
import { versionedFiles } from "./paths.ts";
import { readTree } from "./readTree.ts";
import { TraceFile } from "./trace/TraceFile.ts";
import type { Place, TraceLine, Tree } from "./trace/TraceLine.ts";

/** What a process is told. */
export interface WorkerOptions {
  readonly directory: string;
  /** Of the life: what the agent does. */
  readonly seed: number;
  /** Of the process: what it chooses. */
  readonly choices: number;
  /** So many rollbacks end the life. */
  readonly rollbacks: number;
  readonly stop?: Stop;
}

const turns = 3;

const options = JSON.parse(process.argv[2] ?? "") as WorkerOptions;
const { directory, seed } = options;
const root = join(directory, "root");
const random = seededNumbers(options.choices);
const trace = new TraceFile(join(directory, "trace"));
const watch = new CallWatch(root, trace, options.stop);
await watch.install();

async function within<Result>(place: Place, action: () => Promise<Result>): Promise<Result> {
  const before = watch.enter(place);
  try {
    return await action();
  } finally {
    watch.enter(before);
  }
}

/** A person answers anything that may be answered. */
function onConflict({ kind, path }: FileConflict): FileResolution {
  const answers: Readonly<Record<FileConflict["kind"], readonly FileResolution[]>> = {
    file_modified_externally: ["use_current", "use_checkpoint", "merge"],
    file_deleted: ["restore", "skip"],
    file_unreachable: ["skip"],
    git_state_changed: ["use_current"],
  };
  const possible = answers[kind];
  const answer = random() < 0.05 ? "abort" : (possible[Math.floor(random() * possible.length)] ?? "abort");
  trace.add({ kind: "asked", path, answer });
  return answer;
}

const workspace = new Workspace({ root, onConflict, ignore: ["versions"] });
const apply = workspace.apply.bind(workspace);
Object.assign(workspace, {
  apply: (...given: Parameters<typeof apply>) => within("restore", () => apply(...given)),
});

const command = tool({
  name: "command",
  description: "",
  inputSchema: z.object({ steps: z.array(z.custom<CommandStep>()) }),
  effect: "idempotent",
  execute: ({ steps }, { context }) =>
    within("capture", async () => {
      trace.add({ kind: "capturing" });
      await workspace.capture(context, async () => {
        trace.add({ kind: "acts", by: "command", paths: steps.flatMap(pathsOf) });
        for (const step of steps) {
          watch.quietly(() => carryOut(root, step));
          await nextTurn();
        }
      });
      trace.add({ kind: "captured" });
      return "done";
    }),
});

const reservations = new Reservations({ directory: join(directory, `reservations-${process.pid}`) });
const lock = new OptimisticLock({ root, reservations });

/** Adds a line to a file, unless it is there already. @returns whether it is there. */
async function addLine(path: string, tag: string): Promise<boolean> {
  trace.add({ kind: "committing", path, tag });
  const acquired = await lock.acquire(path);
  const text = acquired.version.hash === "" ? "" : readFileSync(join(root, path), "utf8");
  if (text.includes(`${tag}\n`)) return true;
  if (acquired.version.hash !== "" && nodeSha256.hex(text) !== acquired.version.hash) return false;
  const { success } = await acquired.checkAndCommit(`${text}${tag}\n`);
  if (success) trace.add({ kind: "committed", path, tag });
  return success;
}

async function commit(path: string, tag: string): Promise<string> {
  for (let attempt = 0; attempt < 20; attempt++) if (await addLine(path, tag).catch(isMissing)) return "committed";
  return "others changed it all the time";
}

/** A person deleted it between two looks. */
function isMissing(error: unknown): false {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
  throw error;
}

const commitVersion = tool({
  name: "commit_version",
  description: "",
  inputSchema: z.object({ path: z.string(), tag: z.string() }),
  effect: "idempotent",
  execute: ({ path, tag }) => within("commit", () => commit(path, tag)),
});

function look(told: (files: Tree) => TraceLine): void {
  trace.add({ kind: "seeing" });
  trace.add(told(watch.quietly(() => readTree(root))));
}

const seen = new Set(trace.read().flatMap((line) => (line.kind === "checkpoint" ? [line.id] : [])));
let line = rollbacksIn(trace.read());

async function turn(at: number, context: AgentContext): Promise<number> {
  const { checkpointId = "" } = (await persistence(context).getLatestCheckpoint()) ?? {};
  if (!seen.has(checkpointId)) look((files) => ({ kind: "checkpoint", id: checkpointId, files }));
  seen.add(checkpointId);
  for (const work of agentsWork(seed, `${line}.${at}`)) await perform(context, work);
  return at + 1;
}

async function perform(context: AgentContext, work: ReturnType<typeof agentsWork>[number]): Promise<void> {
  const used = [command, commitVersion, ...workspace.tools].find(({ name }) => name === work.tool);
  if (used === undefined) throw new TypeError(`There is no tool ${work.tool}.`);
  const call = () => context.tools.call(used, work.input as never);
  if (!("paths" in work)) return void (await call());
  trace.add({ kind: "acts", by: "tool", paths: work.paths });
  // What the agent asks for may be impossible, such as an edit of a file that a person deleted.
  await within("tool", () =>
    call().catch((error: unknown) => {
      if ((error as { readonly code?: string }).code !== "tool_failed") throw error;
    }),
  );
}

const working = strategy<string, string>("working", (graph) => {
  const node = graph.node("turn", turn);
  graph.edge(graph.start, node, { map: () => 0 });
  graph.edge(node, node, { when: (at) => at < turns });
  graph.edge(node, graph.finish, { map: (at) => `${at} turns` });
});

const agent = new AIAgent({
  id: "a",
  llmModel: "scripted",
  promptExecutor: scriptedModel([]),
  strategy: working,
  tools: [command, commitVersion, ...workspace.tools],
});
const durable = agent.install(Persistence, {
  storage: new FilePersistenceStorageProvider({ directory: join(directory, "store") }),
  participants: [workspace],
});
const own = persistence(durable).agent();

function rollbacksIn(lines: readonly TraceLine[]): number {
  return lines.filter(({ kind }) => kind === "rolledBack").length;
}

/** The target of the rollback that is not finished. */
function openRollback(lines: readonly TraceLine[]): string | undefined {
  const last = lines.findLast((one) => one.kind === "rollsBack" || one.kind === "rolledBack");
  return last?.kind === "rollsBack" ? last.to : undefined;
}

/** Any checkpoint on the way to the newest one whose files were seen. */
async function anyCheckpoint(): Promise<string | undefined> {
  const byId = new Map((await own.getCheckpoints()).map((checkpoint) => [checkpoint.checkpointId, checkpoint]));
  const way: string[] = [];
  for (let at = await own.getLatestCheckpoint(); at; at = byId.get(at.parentId ?? "")) way.push(at.checkpointId);
  const possible = way.filter((id) => seen.has(id));
  return possible[Math.floor(random() * possible.length)];
}

async function rollBack(to: string): Promise<void> {
  try {
    const { participants } = await within("rollback", () => own.rollbackToCheckpoint(to));
    const steps = participants.flatMap((participant) => participant.steps);
    const notRestored = steps.filter(({ change }) => change.startsWith("not restored")).map(({ subject }) => subject);
    trace.add({ kind: "rolledBack", to, notRestored });
    look((files) => ({ kind: "found", files }));
    line++;
  } catch (error) {
    const { code = "" } = error as { readonly code?: string };
    if (code !== "file_conflict") throw error;
    trace.add({ kind: "refused", code });
  }
}

async function live(): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const lines = trace.read();
    const open = openRollback(lines);
    if (open !== undefined) {
      await rollBack(open);
      continue;
    }
    if (rollbacksIn(lines) >= options.rollbacks) return;
    if (!isFirst || random() < 0.7) await durable.run("go", { runId: "r" });
    const to = await anyCheckpoint();
    if (to === undefined) await durable.run("go", { runId: "r" });
    else trace.add({ kind: "rollsBack", to });
  }
}

trace.add({ kind: "process" });
await live();
for (const path of versionedFiles) await commit(path, "commit-last");
look((files) => ({ kind: "found", files }));
writeSync(1, "done\n");
