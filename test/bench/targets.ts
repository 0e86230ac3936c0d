import type { Figures } from "./Figures.ts";
import type { ImportFigures } from "./measure/importTimes.ts";
import type { AiSdkStepFigures } from "./ours/aiSdkSteps.ts";
import type { GraphAppends, ReadFigures } from "./GraphFigures.ts";
import type { CommandStartFigures } from "./views/commandStarts.ts";
import type { ArchiveFigures } from "./ours/archives.ts";
import type { CallFigures } from "./ours/calls.ts";
import type { CaptureFigures } from "./workspace/captures.ts";
import type { DriftFigures } from "./workspace/drifts.ts";
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
import type { TurnFigures } from "./turns.ts";
import type { QueueFigures } from "./ours/queues.ts";
import type { WaitFigures } from "./ours/waits.ts";
import type { PostgresFigures } from "./ours/postgres.ts";
import type { SqliteFigures } from "./ours/sqlite.ts";

/** A figure that is promised, and what was found. */
export interface Target {
  readonly name: string;
  readonly found: number;
  readonly atMost: number;
  /** What the number counts: times something, milliseconds, or per cent. */
  readonly unit: "" | "×" | " ms" | " MB" | " %" | " round trips";
}

export function importTargets({ rootMs, zodMs }: ImportFigures): Target[] {
  return [{ name: `import (${rootMs.toFixed(0)} ms) ÷ import of zod`, found: rootMs / zodMs, atMost: 1.3, unit: "×" }];
}

export function fileTargets(steps: number, messageBytes: number, { save, floor, diskBytes = 0 }: Figures): Target[] {
  if (floor === undefined) throw new Error("Files are measured beside the floor.");
  const run = `files, ${steps} steps:`;
  const targets: Target[] = [
    { name: `${run} median save at the start ÷ floor`, found: save.startMs / floor.startMs, atMost: 1.5, unit: "×" },
    { name: `${run} median save at the end ÷ floor`, found: save.endMs / floor.endMs, atMost: 1.5, unit: "×" },
    { name: `${run} total wall ÷ floor`, found: save.wallMs / floor.wallMs, atMost: 2.5, unit: "×" },
    { name: `${run} bytes on disk ÷ message bytes`, found: diskBytes / messageBytes, atMost: 1.25, unit: "×" },
  ];
  // The reserve of a storage is larger than the messages of 100 steps.
  return steps < 1_000 ? targets.slice(0, -1) : targets;
}

export function sqliteTargets(steps: number, figures: SqliteFigures): Target[] {
  return databaseTargets(`SQLite, ${steps} steps:`, steps, figures);
}

export function postgresTargets(steps: number, figures: PostgresFigures): Target[] {
  const run = `Postgres, ${steps} steps:`;
  const [atMost, unit] = [3, " round trips"] as const;
  return [
    ...databaseTargets(run, steps, figures),
    { name: `${run} load latest`, found: figures.loadTrips, atMost, unit },
    { name: `${run} poll among 2,000 tasks that run or wait`, found: figures.pollTrips, atMost, unit },
  ];
}

/** Beside a table of the same engine, driver and settings. The bytes of short runs are mostly those of empty pages. */
function databaseTargets(
  run: string,
  steps: number,
  figures: Omit<SqliteFigures, "saveWallMs" | "saveFloorWallMs">,
): Target[] {
  const { appendMs, appendFloorMs, saveMs, saveFloorMs, appendBytes, saveBytes } = figures;
  const [append, save] = [ofMs(appendMs, appendFloorMs, 3), ofMs(saveMs, saveFloorMs, 3)];
  const targets: Target[] = [
    { name: `${run} median append ÷ floor${append}`, found: appendMs / appendFloorMs, atMost: 1.35, unit: "×" },
    { name: `${run} median save ÷ floor${save}`, found: saveMs / saveFloorMs, atMost: 1.5, unit: "×" },
    { name: `${run} bytes of appends ÷ floor`, found: appendBytes, atMost: 1.05, unit: "×" },
    { name: `${run} bytes of saves ÷ floor`, found: saveBytes, atMost: 1.3, unit: "×" },
  ];
  return steps < 3_000 ? targets.slice(0, 2) : targets;
}

export function memoryTargets(steps: number, messageBytes: number, { save }: Figures, heapBytes: number): Target[] {
  const run = `memory, ${steps} steps:`;
  return [
    { name: `${run} median save at the start`, found: save.startMs, atMost: 0.05, unit: " ms" },
    { name: `${run} median save at the end`, found: save.endMs, atMost: 0.05, unit: " ms" },
    { name: `${run} heap growth ÷ message bytes`, found: heapBytes / messageBytes, atMost: 2, unit: "×" },
  ];
}

export function loadTargets(steps: number, messages: number, figures: LoadFigures): Target[] {
  const run = `${steps} checkpoints, ${messages} messages:`;
  const { latestMs, resumeMs, parseMs } = figures;
  const of = (ms: number): string => ofMs(ms, parseMs);
  return [
    { name: `${run} load latest ÷ read and parse${of(latestMs)}`, found: latestMs / parseMs, atMost: 2, unit: "×" },
    { name: `${run} own and open ÷ read and parse${of(resumeMs)}`, found: resumeMs / parseMs, atMost: 2, unit: "×" },
  ];
}

/** Parallel branches: memory, opening and answering. */
export function lineTargets(figures: LineFigures): Target[] {
  const { fewBytes, manyBytes, openMs, parseMs, answerFewMs, answerManyMs } = figures;
  const [opened, answered] = [ofMs(openMs, parseMs), ofMs(answerManyMs, answerFewMs)];
  return [
    { name: "peak heap of 10,000 items ÷ of 1,000", found: manyBytes / fewBytes, atMost: 2, unit: "×" },
    { name: `opening 100 open branches ÷ read and parse${opened}`, found: openMs / parseMs, atMost: 1.5, unit: "×" },
    {
      name: `an answer beside 2,000 open requests ÷ beside 200${answered}`,
      found: answerManyMs / answerFewMs,
      atMost: 1.5,
      unit: "×",
    },
  ];
}

/** A conversation gets longer, and the model gets all of it; what is stored of a turn stays the same. */
export function turnTargets([first, ...later]: readonly TurnFigures[]): Target[] {
  return later.flatMap(({ turn, hotMs, readMs = 0, parseMs }): Target[] => {
    const opening = readMs - (first?.readMs ?? 0);
    return [
      {
        name: `turn ${turn} ÷ turn 1 (${hotMs.toFixed(1)} ms)`,
        found: hotMs / (first?.hotMs ?? 0),
        atMost: 2,
        unit: "×",
      },
      {
        name: `turn ${turn}: opening and reading, above turn 1 ÷ parsing the messages (${opening.toFixed(1)} ms)`,
        found: opening / parseMs,
        atMost: 2.5,
        unit: "×",
      },
    ];
  });
}

export function prunedTurnTargets(figures: readonly PrunedConversation[]): Target[] {
  return figures.map(({ runs, cpuMs, stallMs }) => ({
    name: `pruning an agent of ${runs} runs (${cpuMs.toFixed(0)} ms of CPU): longest stall`,
    found: stallMs,
    atMost: 50,
    unit: " ms",
  }));
}

/** k calls add at most k + 1 appends to a turn, each at most 1.5 floors. */
export function callTargets({ alone, together }: CallFigures): Target[] {
  const call = "files, overhead of a journaled call ÷ floor:";
  return [
    { name: `${call} made alone`, found: alone, atMost: 3, unit: "×" },
    { name: `${call} each of several made at once`, found: together, atMost: 1.7, unit: "×" },
  ];
}

export function treeTargets({ readMs, treeMs }: TreeFigures): Target[] {
  const name = `the tree of 10,000 checkpoints ÷ reading them${ofMs(treeMs, readMs)}`;
  return [{ name, found: treeMs / readMs, atMost: 1.5, unit: "×" }];
}

/** The log is read once for the first look; a page then takes what it shows. */
export function inspectionTargets({ showMs, treeMs, pageMs, heapBytes }: InspectionFigures): Target[] {
  const name = "a look at 100,000 records:";
  return [
    { name: `${name} show, with the first pass over the log`, found: showMs, atMost: 10_000, unit: " ms" },
    { name: `${name} the last 50 checkpoints`, found: treeMs, atMost: 1_000, unit: " ms" },
    { name: `${name} the last 50 steps`, found: pageMs, atMost: 2_000, unit: " ms" },
    { name: `${name} heap that stays in use`, found: heapBytes / 1024 ** 2, atMost: 100, unit: " MB" },
  ];
}

export function commandStartTargets({ emptyMs, commands }: CommandStartFigures): Target[] {
  return commands.map(({ name, ms }) => ({
    name: `agent-persistence ${name} (node -e 0: ${emptyMs.toFixed(0)} ms)`,
    found: ms,
    atMost: 150,
    unit: " ms",
  }));
}

/** A graph of LangGraph with our saver. */
export function graphTargets(
  steps: number,
  messageBytes: number,
  run: "put" | "full" | "delta",
  { save, diskBytes }: Figures,
): Target[] {
  const name = `PersistenceSaver, ${steps} steps:`;
  if (run === "put" && diskBytes === undefined)
    return [
      {
        name: `${name} a put at the end (${save.endMs.toFixed(2)} ms), above one at the start (${save.startMs.toFixed(2)} ms)`,
        found: save.endMs - save.startMs,
        atMost: steps * 0.0005,
        unit: " ms",
      },
    ];
  if (run === "put" || diskBytes === undefined || steps < 1_000) return [];
  const channel = run === "delta" ? "delta" : "full";
  const atMost = run === "delta" ? 1.45 : 1.4;
  return [
    {
      name: `${name} bytes on disk ÷ message bytes, ${channel} channel`,
      found: diskBytes / messageBytes,
      atMost,
      unit: "×",
    },
  ];
}

export function graphAppendTargets({ full, delta }: GraphAppends): Target[] {
  const name = "PersistenceSaver: appends of a superstep,";
  return [
    { name: `${name} full channel`, found: full, atMost: 1, unit: "" },
    { name: `${name} delta channel`, found: delta, atMost: 1, unit: "" },
  ];
}

/** Beside the saver of LangGraph that stores in the same place. */
export function graphReadTargets(kind: string, ours: ReadFigures, theirs: ReadFigures): Target[] {
  const name = `PersistenceSaver ÷ ${kind}:`;
  const target = (what: string, key: keyof ReadFigures, atMost: number): Target => {
    const [own = Number.NaN, other = Number.NaN] = [ours[key], theirs[key]];
    return { name: `${name} ${what}${ofMs(own, other)}`, found: own / other, atMost, unit: "×" };
  };
  return [
    target("history of 303 checkpoints", "historyMs", 0.1),
    target("latest of 3,000 messages", "latestMs", 1.5),
    target("the newest 100 of 3,000 checkpoints", "listMs", 2),
    ...(ours.newLatestMs === undefined ? [] : [target("latest of 3,000 messages, by a new saver", "newLatestMs", 1.5)]),
  ];
}

export function aiSdkStepTargets({ appends, bytes }: AiSdkStepFigures): Target[] {
  const name = "durableAgent of the AI SDK, a step with one call of 2 KB:";
  return [
    { name: `${name} appends`, found: appends, atMost: 2, unit: "" },
    { name: `${name} bytes on disk ÷ message bytes`, found: bytes, atMost: 1.5, unit: "×" },
  ];
}

export function lastPageTargets({ writeMs, memoryBytes, logBytes }: LastPageFigures): Target[] {
  const name = "the page of the last 50 checkpoints of 100,000 records";
  return [
    { name: `${name}, written`, found: writeMs, atMost: 10_000, unit: " ms" },
    { name: `${name}: memory ÷ the log on disk`, found: memoryBytes / logBytes, atMost: 3, unit: "×" },
  ];
}

/** A frame of a screen takes 16.7 ms. */
export function timelineTargets({
  writeMs,
  pageBytes,
  openMs,
  elements,
  scrollMs,
  heapBytes,
}: TimelineFigures): Target[] {
  const megabytes = pageBytes / 1024 ** 2;
  const name = `the page of 10,000 checkpoints (${megabytes.toFixed(0)} MB, ${writeMs.toFixed(0)} ms of CPU to write):`;
  return [
    { name: `${name} opening`, found: openMs, atMost: 5_000, unit: " ms" },
    { name: `${name} elements in the document`, found: elements, atMost: 2_000, unit: "" },
    { name: `${name} work for a scroll by three rows`, found: scrollMs, atMost: 16.7, unit: " ms" },
    { name: `${name} heap of the page ÷ the page`, found: heapBytes / pageBytes, atMost: 3, unit: "×" },
  ];
}

export function resumeTargets({ newMs, knownMs }: ResumeFigures): Target[] {
  const name = `a resume that compares unchanged code ÷ one that knows it${ofMs(newMs, knownMs)}`;
  return [{ name, found: newMs / knownMs, atMost: 1.5, unit: "×" }];
}

export function replayTargets({ runMs, replayMs, readMs }: ReplayFigures, fixturesMs: number): Target[] {
  const aloneMs = replayMs - readMs;
  const than = (ms: number) => `${ofMs(ms, runMs)} ÷ a run without persistence, CPU`;
  return [
    { name: `a replay without the reading of its log${than(aloneMs)}`, found: aloneMs / runMs, atMost: 1.2, unit: "×" },
    { name: `a replay with the reading of its log${than(replayMs)}`, found: replayMs / runMs, atMost: 1.2, unit: "×" },
    { name: "1,000 fixtures of 20 steps, on one core", found: fixturesMs, atMost: 20_000, unit: " ms" },
  ];
}

export function forkTargets({ stepsMs, stepsCopyMs, valuesMs, valuesCopyMs }: ForkFigures): Target[] {
  const than = (forkMs: number, copyMs: number) => `${ofMs(forkMs, copyMs)} ÷ copying and syncing its files`;
  return [
    {
      name: `fork of 3,000 steps of 2 KB${than(stepsMs, stepsCopyMs)}`,
      found: stepsMs / stepsCopyMs,
      atMost: 3,
      unit: "×",
    },
    {
      name: `fork with 100 values of 1 MB${than(valuesMs, valuesCopyMs)}`,
      found: valuesMs / valuesCopyMs,
      atMost: 2,
      unit: "×",
    },
  ];
}

/** At least half the speed of a copy. */
export function archiveTargets(
  of: "steps" | "values",
  { exportMs, exportCopyMs, importMs, importCopyMs }: ArchiveFigures,
): Target[] {
  const agent = of === "steps" ? "3,000 steps of 2 KB" : "100 values of 1 MB";
  const than = (ms: number, copyMs: number) => `${ofMs(ms, copyMs)} ÷ a copy with SHA-256`;
  return [
    { name: `export of ${agent}${than(exportMs, exportCopyMs)}`, found: exportMs / exportCopyMs, atMost: 2, unit: "×" },
    { name: `import of ${agent}${than(importMs, importCopyMs)}`, found: importMs / importCopyMs, atMost: 3, unit: "×" },
  ];
}

/** @param grown in bytes, while the values are written, exported and imported. */
export function archiveMemoryTargets([
  ,
  exportBytes = Number.NaN,
  importBytes = Number.NaN,
]: readonly number[]): Target[] {
  const unit = " MB";
  return [
    { name: "memory for the export of 1 GB", found: exportBytes / 1024 ** 2, atMost: 100, unit },
    { name: "memory for the import of 1 GB", found: importBytes / 1024 ** 2, atMost: 100, unit },
  ];
}

export function mergeTargets({ realMs, alikeMs, largeMs, largeGitMs, longestHoldMs }: MergeFigures): Target[] {
  return [
    { name: "merge of 10,000 lines of code, 1 % edited on each side", found: realMs, atMost: 100, unit: " ms" },
    { name: "merge of 4,000 lines that are all alike", found: alikeMs, atMost: 500, unit: " ms" },
    { name: "merge of 100,000 lines beside git merge-file", found: largeMs / largeGitMs, atMost: 2, unit: "×" },
    { name: "longest hold of the event loop by that merge", found: longestHoldMs, atMost: 50, unit: " ms" },
  ];
}

export function captureTargets({ firstMs, stepMs, growth }: CaptureFigures): Target[] {
  const folder = `capture of 10 changed files among 10,000 (the first: ${firstMs.toFixed(0)} ms)`;
  return [
    { name: folder, found: stepMs, atMost: 150, unit: " ms" },
    { name: "capture: growth of the storage ÷ what was written", found: growth, atMost: 1.25, unit: "×" },
  ];
}

export function restoreTargets({ files, rollbackMs, loopMs }: RestoreFigures): Target[] {
  const name = `rollback of ${files} files ÷ writing and syncing them`;
  return [{ name, found: rollbackMs / loopMs, atMost: 1.5, unit: "×" }];
}

export function driftTargets({ files, checkMs, gitMs }: DriftFigures): Target[] {
  const name = `drift with ${files} files that both sides changed${ofMs(checkMs, gitMs)} ÷ git`;
  return [{ name, found: checkMs / gitMs, atMost: 3, unit: "×" }];
}

export function rebaseTargets({ files, rebaseMs, gitMs, apartMs }: RebaseFigures): Target[] {
  const name = `rebase of ${files} changed files`;
  return [
    { name: `${name}${ofMs(rebaseMs, gitMs)} ÷ git rebase`, found: rebaseMs / gitMs, atMost: 3, unit: "×" },
    {
      name: `${name}${ofMs(rebaseMs, apartMs)} ÷ git rebase in a folder for tests`,
      found: rebaseMs / apartMs,
      atMost: 3,
      unit: "×",
    },
  ];
}

export function lockTargets({ otherPaths, fewMs, manyMs }: LockFigures): Target[] {
  const others = otherPaths.toLocaleString("en");
  const name = `acquiring and releasing a path after ${others} others${ofMs(manyMs, fewMs)} ÷ after few`;
  return [{ name, found: manyMs / fewMs, atMost: 1.5, unit: "×" }];
}

function ofMs(ms: number, other: number, digits = 1): string {
  return ` (${ms.toFixed(digits)} ms ÷ ${other.toFixed(digits)} ms)`;
}

export function pruningTargets({ agents, save }: PruningFigures): Target[] {
  return [
    ...agents.flatMap(({ messages, pruneMs, kept, disk }): Target[] => {
      const agent = `10,000 checkpoints, ${messages} messages:`;
      return [
        { name: `${agent} pruning all but ${kept}`, found: pruneMs, atMost: 2_000, unit: " ms" },
        { name: `${agent} disk with retention ÷ an agent of those kept`, found: disk, atMost: 2, unit: "×" },
      ];
    }),
    { name: "median save with retention ÷ without", found: save, atMost: 1.1, unit: "×" },
  ];
}

/** The costs of a sleep, of a queued task and of a streamed response, in one run. */
export function waitTargets({ runMs, sleepMs, taskMs, deltasMs, streamMs }: WaitFigures): Target[] {
  const run = `a run of two nodes (${runMs.toFixed(1)} ms)`;
  return [
    { name: `a run that sleeps, and its resume, ÷ ${run}`, found: sleepMs / runMs, atMost: 3, unit: "×" },
    { name: `a task that is created and run by a worker ÷ ${run}`, found: taskMs / runMs, atMost: 4, unit: "×" },
    {
      name: "a response of 1,000 parts with a stream store ÷ without",
      found: streamMs / deltasMs,
      atMost: 3,
      unit: "×",
    },
  ];
}

/** What is finished costs nothing: each figure ÷ that among ten agents. */
export function queueTargets({ among, workedOff }: QueueFigures): Target[] {
  const [few] = among;
  const [short] = workedOff;
  const ratios = among.slice(1).flatMap(({ agents, claimMs, pollMs, workerMs, pageMs }): Target[] => {
    if (few === undefined) return [];
    const size = `among ${agents.toLocaleString("en")} finished agents ÷ among ${few.agents}`;
    const ms = (value: number) => `${value.toFixed(1)} ms`;
    return [
      { name: `claim ${size} (${ms(claimMs)} of CPU)`, found: claimMs / few.claimMs, atMost: 1.5, unit: "×" },
      { name: `poll ${size} (${ms(pollMs)})`, found: pollMs / few.pollMs, atMost: 1.5, unit: "×" },
      {
        name: `worker with one task ${size} (${ms(workerMs)})`,
        found: workerMs / few.workerMs,
        atMost: 1.5,
        unit: "×",
      },
      { name: `first ten of a list ${size} (${ms(pageMs)})`, found: pageMs / few.pageMs, atMost: 1.5, unit: "×" },
    ];
  });
  const idle = among.map(({ agents, idlePercent }): Target => {
    const name = `idle worker, polling each second among ${agents.toLocaleString("en")} finished agents: of a core`;
    return { name, found: idlePercent, atMost: 1, unit: " %" };
  });
  const long = workedOff.slice(1).map(({ tasks, taskMs }): Target => {
    const name = `one task of ${tasks.toLocaleString("en")} queued ÷ one of ten (${taskMs.toFixed(1)} ms of CPU)`;
    return { name, found: taskMs / (short?.taskMs ?? 0), atMost: 1.5, unit: "×" };
  });
  return [...ratios, ...idle, ...long];
}
