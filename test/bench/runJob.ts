import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { contestants, type Contestant } from "./contestants.ts";
import type { Cost, Job } from "./Job.ts";
import type { Target } from "./targets.ts";

// Types do not need what is installed for the benchmarks alone.
const graphReads = async () => (await import(new URL("./langgraph/reads.ts", import.meta.url).href)) as ReadsModule;
const graphs = async () => (await import(new URL("./langgraph/appends.ts", import.meta.url).href)) as AppendsModule;
const dbos = async () => (await import(new URL("./dbos/queuesBesideDbos.ts", import.meta.url).href)) as DbosModule;

interface DbosModule {
  queuesBesideDbos(): Promise<readonly Target[]>;
}

interface ReadsModule {
  reads(saver: string, directory: string): Promise<unknown>;
}

interface AppendsModule {
  graphAppends(): Promise<unknown>;
}

const [job, directory = ""] = [JSON.parse(process.argv[2] ?? "") as Job, process.argv[3]];
process.send?.(await result(job));

async function result(given: Job): Promise<unknown> {
  if (given.kind === "load") {
    const { load } = await import("./ours/loads.ts");
    return load(given.steps, given.messages, await folder("run"));
  }
  if (given.kind === "turns")
    return (await import("./conversations.ts")).conversations(given.talker, await folder("run"));
  if (given.kind === "pruneTurns")
    return (await import("./ours/prunedConversations.ts")).prunedConversations(await folder("run"));
  if (given.kind === "calls") return (await import("./ours/calls.ts")).calls(await folder("run"));
  if (given.kind === "capture") return (await import("./workspace/captures.ts")).captures(await folder("run"));
  if (given.kind === "restore") return (await import("./workspace/restores.ts")).restores(await folder("run"));
  if (given.kind === "prune") return (await import("./ours/prunings.ts")).prunings(await folder("run"));
  if (given.kind === "queue") return (await import("./ours/queues.ts")).queues(await folder("run"));
  if (given.kind === "cost") return costOf(given.of, await folder("run"));
  if (given.kind === "waits") return (await import("./ours/waits.ts")).waits(await folder("run"));
  if (given.kind === "drift") return (await import("./workspace/drifts.ts")).drifts(await folder("run"));
  if (given.kind === "rebase") return (await import("./workspace/rebases.ts")).rebases(await folder("run"));
  if (given.kind === "sqlite") return (await import("./ours/sqlite.ts")).sqlite(given.steps, await folder("run"));
  if (given.kind === "postgres") return (await import("./ours/postgres.ts")).postgres(given.steps);
  if (given.kind === "lines") return (await import("./ours/lines.ts")).lines(await folder("run"));
  if (given.kind === "tree") return (await import("./views/trees.ts")).trees(await folder("run"));
  if (given.kind === "inspect")
    return (await import("./views/inspections.ts")).inspections(given.of, await folder("run"));
  if (given.kind === "commands") return (await import("./views/commandStarts.ts")).commandStarts(await folder("run"));
  if (given.kind === "timeline") return (await import("./views/timelines.ts")).timelines(await folder("run"));
  if (given.kind === "graphReads") return (await graphReads()).reads(given.saver, await folder("run"));
  if (given.kind === "graphAppends") return (await graphs()).graphAppends();
  if (given.kind === "aiSdkSteps") return (await import("./ours/aiSdkSteps.ts")).aiSdkSteps(await folder("run"));
  if (given.kind === "resume") return (await import("./ours/resumes.ts")).resumes(await folder("run"));
  if (given.kind === "replay") return (await import("./views/replays.ts")).replays();
  if (given.kind === "fixtures") return (await import("./views/replays.ts")).fixtures();
  if (given.kind === "fork") return (await import("./ours/forks.ts")).forks(await folder("run"));
  if (given.kind === "archive") {
    const { archivesOfSteps, archivesOfValues } = await import("./ours/archives.ts");
    return given.of === "steps" ? archivesOfSteps(await folder("run")) : archivesOfValues(await folder("run"));
  }
  if (given.kind === "archiveMemory")
    return (await import("./ours/archives.ts")).archiveMemory(given.of, await folder("run"));
  if (given.kind === "lock") return (await import("./workspace/locks.ts")).locks(await folder("run"));
  if (given.kind === "merge") return (await import("./workspace/merges.ts")).merges();
  const contestant = contestants.find(({ name }) => name === given.contestant);
  if (contestant === undefined) throw new Error(`There is no contestant ${given.contestant}.`);
  return given.kind === "heap" ? heap(contestant, given.steps) : times(contestant, given.steps);
}

async function costOf(of: Cost, run: string): Promise<readonly Target[]> {
  if (of === "shortRuns") return (await import("./costs/shortRuns.ts")).shortRuns(run);
  if (of === "nodesInMemory") return (await import("./costs/nodesInMemory.ts")).nodesInMemory();
  if (of === "itemsInMemory") return (await import("./costs/itemsInMemory.ts")).itemsInMemory();
  if (of === "queuesBesideDbos") return (await dbos()).queuesBesideDbos();
  if (of === "taskLists") return (await import("./costs/taskLists.ts")).taskLists(run);
  if (of === "emptyStores") return (await import("./costs/emptyStores.ts")).emptyStores(run);
  if (of === "pagesOf2000") return (await import("./costs/pagesOf2000.ts")).pagesOf2000(run);
  if (of === "secretSaves") return (await import("./secrets/secretSaves.ts")).secretSaves(run);
  return (await import("./costs/capturesBesideGit.ts")).capturesBesideGit(run);
}

/**
 * What runs first is thrown away. Loading and compiling code is no part of the price of a step; and since code is
 * compiled for the objects it has met, it takes several agents until it suits any.
 */
async function times(contestant: Contestant, steps: number): Promise<unknown> {
  const { rounds, each } = contestant.full ? { rounds: 1, each: 300 } : { rounds: 4, each: 2_000 };
  for (let round = 0; round < rounds; round++) await contestant.times(each, await folder(`warm-up-${round}`));
  return contestant.times(steps, await folder("run"));
}

async function heap(contestant: Contestant, steps: number): Promise<unknown> {
  await contestant.heap?.(100);
  return contestant.heap?.(steps);
}

async function folder(name: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(path, { recursive: true });
  return path;
}
