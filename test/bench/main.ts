import { parseArgs } from "node:util";
import { contestants, type Contestant, type SaverKind } from "./contestants.ts";
import type { Figures } from "./Figures.ts";
import { importTimes } from "./measure/importTimes.ts";
import { costs } from "./Job.ts";
import { inOwnProcess, inOwnProcesses } from "./inOwnProcess.ts";
import { messageBytes } from "./message.ts";
import { linkLibrary } from "./linkLibrary.ts";
import type { CaptureFigures } from "./workspace/captures.ts";
import type { CallFigures } from "./ours/calls.ts";
import type { DriftFigures } from "./workspace/drifts.ts";
import type { ArchiveFigures } from "./ours/archives.ts";
import type { AiSdkStepFigures } from "./ours/aiSdkSteps.ts";
import type { GraphAppends, ReadFigures } from "./GraphFigures.ts";
import type { CommandStartFigures } from "./views/commandStarts.ts";
import type { ForkFigures } from "./ours/forks.ts";
import type { LineFigures } from "./ours/lines.ts";
import type { LoadFigures } from "./ours/loads.ts";
import type { LockFigures } from "./workspace/locks.ts";
import type { InspectionFigures, LastPageFigures } from "./views/inspections.ts";
import type { TimelineFigures } from "./views/timelines.ts";
import type { TreeFigures } from "./views/trees.ts";
import type { MergeFigures } from "./workspace/merges.ts";
import type { PruningFigures } from "./ours/prunings.ts";
import type { RebaseFigures } from "./workspace/rebases.ts";
import type { ReplayFigures } from "./views/replays.ts";
import type { ResumeFigures } from "./ours/resumes.ts";
import type { RestoreFigures } from "./workspace/restores.ts";
import type { PrunedConversation } from "./ours/prunedConversations.ts";
import type { QueueFigures } from "./ours/queues.ts";
import type { WaitFigures } from "./ours/waits.ts";
import type { PostgresFigures } from "./ours/postgres.ts";
import type { SqliteFigures } from "./ours/sqlite.ts";
import type { Talker } from "./conversations.ts";
import { table, targetLine, turnTable, type Row } from "./report.ts";
import type { TurnFigures } from "./turns.ts";
import {
  archiveMemoryTargets,
  archiveTargets,
  callTargets,
  aiSdkStepTargets,
  captureTargets,
  commandStartTargets,
  driftTargets,
  fileTargets,
  forkTargets,
  graphAppendTargets,
  graphReadTargets,
  graphTargets,
  importTargets,
  inspectionTargets,
  lastPageTargets,
  lineTargets,
  loadTargets,
  lockTargets,
  memoryTargets,
  mergeTargets,
  timelineTargets,
  treeTargets,
  prunedTurnTargets,
  pruningTargets,
  rebaseTargets,
  replayTargets,
  restoreTargets,
  postgresTargets,
  resumeTargets,
  sqliteTargets,
  turnTargets,
  queueTargets,
  waitTargets,
  type Target,
} from "./targets.ts";

/**
 * `--full` adds LangGraph's full channels at 3,000 steps (9 GB, minutes); `--only ours` leaves out what it names
 * otherwise; `--steps 100` (repeatable) runs those sizes alone. Exits with 1 when a target is missed.
 */
const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    steps: { type: "string", multiple: true, default: ["100", "1000", "3000"] },
  },
});

const chosen = contestants.filter(({ name }) =>
  name.startsWith(values.only === "ours" ? "agent-persistence" : values.only),
);
linkLibrary();
const targets: Target[] = [];
const talkers = ["ours", "sqlite-delta", "sqlite-full", "memory-delta"] as const;

for (const steps of values.steps.map(Number)) {
  const rows: Row[] = [];
  for (const contestant of chosen) rows.push({ contestant, ...(await measured(contestant, steps)) });
  const bytes = messageBytes(steps);
  console.log(`\n${steps} steps of one new 2 KB message, a checkpoint per step\n\n${table(rows, bytes)}`);
  targets.push(...rows.flatMap((row) => promised(row, steps, bytes)));
}
for (const steps of values.steps.map(Number)) {
  if (!chosen.some(isOurs)) continue;
  targets.push(...sqliteTargets(steps, (await inOwnProcess({ kind: "sqlite", steps })) as SqliteFigures));
  targets.push(...postgresTargets(steps, (await inOwnProcess({ kind: "postgres", steps })) as PostgresFigures));
}
for (const [steps, messages] of [
  [3_000, 3_000],
  [10_000, 50],
] as const) {
  if (!values.steps.includes("3000") || !chosen.some(isOurs)) continue;
  const figures = (await inOwnProcess({ kind: "load", steps, messages })) as LoadFigures;
  targets.push(...loadTargets(steps, messages, figures));
}
if (values.steps.includes("3000") && chosen.some(isOurs)) {
  const figures = new Map<Talker, readonly TurnFigures[]>();
  for (const talker of values.only === "ours" ? (["ours"] as const) : talkers)
    figures.set(talker, (await inOwnProcess({ kind: "turns", talker })) as readonly TurnFigures[]);
  console.log(`\nOne run a turn, with the messages before it: CPU time\n\n${turnTable(figures)}`);
  const pruned = (await inOwnProcess({ kind: "pruneTurns" })) as readonly PrunedConversation[];
  targets.push(...turnTargets(figures.get("ours") ?? []), ...prunedTurnTargets(pruned));
}
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...callTargets((await inOwnProcess({ kind: "calls" })) as CallFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...lineTargets((await inOwnProcess({ kind: "lines" })) as LineFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...treeTargets((await inOwnProcess({ kind: "tree" })) as TreeFigures));
if (values.steps.includes("100") && chosen.some(isOurs)) {
  const jobs = (["write", "look", "page"] as const).map((of) => ({ kind: "inspect", of }) as const);
  const [, look, page] = await inOwnProcesses(jobs);
  targets.push(...inspectionTargets(look as InspectionFigures), ...lastPageTargets(page as LastPageFigures));
  targets.push(...timelineTargets((await inOwnProcess({ kind: "timeline" })) as TimelineFigures));
}
if (values.steps.includes("100") && chosen.some(isOurs)) {
  targets.push(...commandStartTargets((await inOwnProcess({ kind: "commands" })) as CommandStartFigures));
  targets.push(...graphAppendTargets((await inOwnProcess({ kind: "graphAppends" })) as GraphAppends));
  targets.push(...aiSdkStepTargets((await inOwnProcess({ kind: "aiSdkSteps" })) as AiSdkStepFigures));
}
if (values.steps.includes("3000") && values.only !== "ours") {
  const reads = async (saver: SaverKind) => (await inOwnProcess({ kind: "graphReads", saver })) as ReadFigures;
  targets.push(...graphReadTargets("MemorySaver", await reads("ours-memory"), await reads("memory")));
  targets.push(...graphReadTargets("SqliteSaver", await reads("ours-files"), await reads("sqlite")));
}
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...resumeTargets((await inOwnProcess({ kind: "resume" })) as ResumeFigures));
if (values.steps.includes("100") && chosen.some(isOurs)) {
  const replays = (await inOwnProcess({ kind: "replay" })) as ReplayFigures;
  targets.push(...replayTargets(replays, (await inOwnProcess({ kind: "fixtures" })) as number));
  targets.push(...forkTargets((await inOwnProcess({ kind: "fork" })) as ForkFigures));
  for (const of of ["steps", "values"] as const)
    targets.push(...archiveTargets(of, (await inOwnProcess({ kind: "archive", of })) as ArchiveFigures));
  const ofMemory = (["values", "export", "import"] as const).map((of) => ({ kind: "archiveMemory", of }) as const);
  targets.push(...archiveMemoryTargets((await inOwnProcesses(ofMemory)) as readonly number[]));
}
targets.push(...mergeTargets((await inOwnProcess({ kind: "merge" })) as MergeFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...captureTargets((await inOwnProcess({ kind: "capture" })) as CaptureFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...restoreTargets((await inOwnProcess({ kind: "restore" })) as RestoreFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...driftTargets((await inOwnProcess({ kind: "drift" })) as DriftFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...rebaseTargets((await inOwnProcess({ kind: "rebase" })) as RebaseFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...lockTargets((await inOwnProcess({ kind: "lock" })) as LockFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...pruningTargets((await inOwnProcess({ kind: "prune" })) as PruningFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...queueTargets((await inOwnProcess({ kind: "queue" })) as QueueFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  targets.push(...waitTargets((await inOwnProcess({ kind: "waits" })) as WaitFigures));
if (values.steps.includes("100") && chosen.some(isOurs))
  for (const of of costs) targets.push(...((await inOwnProcess({ kind: "cost", of })) as readonly Target[]));
if (values.steps.includes("100") && chosen.some(isOurs)) targets.push(...importTargets(importTimes()));
console.log(`\n${targets.map(targetLine).join("\n")}`);
process.exitCode = targets.every(({ found, atMost }) => found <= atMost) ? 0 : 1;

async function measured(contestant: Contestant, steps: number): Promise<Omit<Row, "contestant">> {
  if (contestant.full && steps > 1_000 && !values.full) return {};
  const about = { contestant: contestant.name, steps };
  const figures = (await inOwnProcess({ kind: "times", ...about })) as Figures;
  if (contestant.heap === undefined) return { figures };
  return { figures, heapBytes: (await inOwnProcess({ kind: "heap", ...about })) as number };
}

function promised({ contestant, figures, heapBytes = 0 }: Row, steps: number, bytes: number): Target[] {
  if (figures === undefined || !isOurs(contestant)) return [];
  if (contestant.graph !== undefined) return graphTargets(steps, bytes, contestant.graph, figures);
  return contestant.kind === "file"
    ? fileTargets(steps, bytes, figures)
    : memoryTargets(steps, bytes, figures, heapBytes);
}

function isOurs({ name }: Contestant): boolean {
  return name.startsWith("agent-persistence");
}
