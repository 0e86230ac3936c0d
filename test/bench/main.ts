import { parseArgs } from "node:util";
import { contestants, type Contestant, type SaverKind } from "./contestants.ts";
import type { Figures } from "./Figures.ts";
import { importTimes } from "./measure/importTimes.ts";
import { costs, type Job } from "./Job.ts";
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
const oursChosen = chosen.some(isOurs);
const [isShort, isLong] = [values.steps.includes("100") && oursChosen, values.steps.includes("3000") && oursChosen];
const missed: Target[] = [];
const talkers = ["ours", "sqlite-delta", "sqlite-full", "memory-delta"] as const;

for (const steps of values.steps.map(Number)) {
  const rows: Row[] = [];
  for (const contestant of chosen) rows.push({ contestant, ...(await measured(contestant, steps)) });
  const bytes = messageBytes(steps);
  console.log(`\n${steps} steps of one new 2 KB message, a checkpoint per step\n\n${table(rows, bytes)}`);
  report(rows.flatMap((row) => promised(row, steps, bytes)));
}
for (const steps of oursChosen ? values.steps.map(Number) : []) {
  report(sqliteTargets(steps, await figuresOf<SqliteFigures>({ kind: "sqlite", steps })));
  report(postgresTargets(steps, await figuresOf<PostgresFigures>({ kind: "postgres", steps })));
}
if (isLong) await measureLong();
if (values.steps.includes("3000") && values.only !== "ours") {
  const reads = (saver: SaverKind) => figuresOf<ReadFigures>({ kind: "graphReads", saver });
  report(graphReadTargets("MemorySaver", await reads("ours-memory"), await reads("memory")));
  report(graphReadTargets("SqliteSaver", await reads("ours-files"), await reads("sqlite")));
}
report(mergeTargets(await figuresOf<MergeFigures>({ kind: "merge" })));
if (isShort) await measureShort();
process.exitCode = missed.length === 0 ? 0 : 1;

function report(targets: readonly Target[]): void {
  for (const target of targets) console.log(targetLine(target));
  missed.push(...targets.filter(({ found, atMost }) => found > atMost));
}

async function measureLong(): Promise<void> {
  for (const [steps, messages] of [
    [3_000, 3_000],
    [10_000, 50],
  ] as const)
    report(loadTargets(steps, messages, await figuresOf<LoadFigures>({ kind: "load", steps, messages })));
  const figures = new Map<Talker, readonly TurnFigures[]>();
  for (const talker of values.only === "ours" ? (["ours"] as const) : talkers)
    figures.set(talker, await figuresOf<readonly TurnFigures[]>({ kind: "turns", talker }));
  console.log(`\nOne run a turn, with the messages before it: CPU time\n\n${turnTable(figures)}`);
  const pruned = await figuresOf<readonly PrunedConversation[]>({ kind: "pruneTurns" });
  report([...turnTargets(figures.get("ours") ?? []), ...prunedTurnTargets(pruned)]);
}

async function measureShort(): Promise<void> {
  report(callTargets(await figuresOf<CallFigures>({ kind: "calls" })));
  report(lineTargets(await figuresOf<LineFigures>({ kind: "lines" })));
  report(treeTargets(await figuresOf<TreeFigures>({ kind: "tree" })));
  const views = (["write", "look", "page"] as const).map((of) => ({ kind: "inspect", of }) as const);
  const [, look, page] = await inOwnProcesses(views);
  report([...inspectionTargets(look as InspectionFigures), ...lastPageTargets(page as LastPageFigures)]);
  report(timelineTargets(await figuresOf<TimelineFigures>({ kind: "timeline" })));
  report(commandStartTargets(await figuresOf<CommandStartFigures>({ kind: "commands" })));
  report(graphAppendTargets(await figuresOf<GraphAppends>({ kind: "graphAppends" })));
  report(aiSdkStepTargets(await figuresOf<AiSdkStepFigures>({ kind: "aiSdkSteps" })));
  report(resumeTargets(await figuresOf<ResumeFigures>({ kind: "resume" })));
  const replays = await figuresOf<ReplayFigures>({ kind: "replay" });
  report(replayTargets(replays, await figuresOf<number>({ kind: "fixtures" })));
  report(forkTargets(await figuresOf<ForkFigures>({ kind: "fork" })));
  for (const of of ["steps", "values"] as const)
    report(archiveTargets(of, await figuresOf<ArchiveFigures>({ kind: "archive", of })));
  const ofMemory = (["values", "export", "import"] as const).map((of) => ({ kind: "archiveMemory", of }) as const);
  report(archiveMemoryTargets((await inOwnProcesses(ofMemory)) as readonly number[]));
  report(captureTargets(await figuresOf<CaptureFigures>({ kind: "capture" })));
  report(restoreTargets(await figuresOf<RestoreFigures>({ kind: "restore" })));
  report(driftTargets(await figuresOf<DriftFigures>({ kind: "drift" })));
  report(rebaseTargets(await figuresOf<RebaseFigures>({ kind: "rebase" })));
  report(lockTargets(await figuresOf<LockFigures>({ kind: "lock" })));
  report(pruningTargets(await figuresOf<PruningFigures>({ kind: "prune" })));
  report(queueTargets(await figuresOf<QueueFigures>({ kind: "queue" })));
  report(waitTargets(await figuresOf<WaitFigures>({ kind: "waits" })));
  for (const of of costs) report(await figuresOf<readonly Target[]>({ kind: "cost", of }));
  report(importTargets(importTimes()));
}

async function figuresOf<Figures>(job: Job): Promise<Figures> {
  return (await inOwnProcess(job)) as Figures;
}

async function measured(contestant: Contestant, steps: number): Promise<Omit<Row, "contestant">> {
  if (contestant.full && steps > 1_000 && !values.full) return {};
  const about = { contestant: contestant.name, steps };
  const figures = await figuresOf<Figures>({ kind: "times", ...about });
  if (contestant.heap === undefined) return { figures };
  return { figures, heapBytes: await figuresOf<number>({ kind: "heap", ...about }) };
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
