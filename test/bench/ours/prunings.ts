import { persistence, type RetentionPolicy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { median } from "../measure/statistics.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { diskBytes } from "../measure/storedBytes.ts";
import { loopingAgent, type LoopOptions } from "./loopingAgent.ts";

/** What retention costs and what it spares. */
export interface PruningFigures {
  /** With 50 messages, and with one for each checkpoint, all of which are in the history of the last. */
  readonly agents: readonly PrunedFigures[];
  /** The median save of runs with retention ÷ without. */
  readonly save: number;
}

/** An agent of 10,000 checkpoints. */
export interface PrunedFigures {
  readonly messages: number;
  /** Pruning it by call, in milliseconds: the median of three such agents. */
  readonly pruneMs: number;
  readonly kept: number;
  /**
   * What is on the disk after a run with retention ÷ what is there of an agent that never had other checkpoints than
   * those kept, with the same messages.
   */
  readonly disk: number;
}

const checkpoints = 10_000;
const repetitions = 3;
const runs = 80;
const stepsOfRun = 40;
const agentId = "bench";

export async function prunings(directory: string): Promise<PruningFigures> {
  const agents = [await pruned(join(directory, "few"), 50), await pruned(join(directory, "many"), checkpoints)];
  return { agents, save: await saveRatio(directory) };
}

async function pruned(directory: string, messages: number): Promise<PrunedFigures> {
  const times: number[] = [];
  for (let at = 0; at < repetitions; at++) times.push(await pruneMs(join(directory, `${at}`), messages));
  const retained = await keptAfterRun(join(directory, "retained"), { steps: checkpoints, messages, retention: {} });
  const fresh = await keptAfterRun(join(directory, "fresh"), {
    steps: retained.kept - 1,
    messages,
    each: Math.ceil(messages / (retained.kept - 1)),
  });
  if (fresh.kept !== retained.kept) throw new Error("Both agents were to have the same checkpoints.");
  return { messages, pruneMs: median(times), kept: retained.kept, disk: retained.bytes / fresh.bytes };
}

async function pruneMs(directory: string, messages: number): Promise<number> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const agent = loopingAgent(storage, { steps: checkpoints, messages, finishes: true });
  await agent.run(1, { agentId });
  const start = performance.now();
  const report = await persistence(agent).prune();
  const ms = performance.now() - start;
  if (report.pruned.length !== 1) throw new Error("The agent was to be pruned.", { cause: report });
  await storage.log.close();
  return ms;
}

async function keptAfterRun(
  directory: string,
  options: Omit<LoopOptions, "finishes">,
): Promise<{ readonly kept: number; readonly bytes: number }> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const agent = loopingAgent(storage, { ...options, finishes: true });
  await agent.run(1, { agentId });
  const kept = (await persistence(agent).agent(agentId).getCheckpoints()).length;
  await storage.log.close();
  return { kept, bytes: await diskBytes(directory) };
}

/** Runs of two agents in turn, each first every other time, of which one is pruned at the ends of its runs. */
async function saveRatio(directory: string): Promise<number> {
  const contestants = [undefined, {}].map((retention: RetentionPolicy | undefined, at) => {
    const storage = new FilePersistenceStorageProvider({ directory: join(directory, `saves-${at}`) });
    const times = new StepTimes();
    const agent = loopingAgent(storage, { steps: stepsOfRun, finishes: true, times, ...(retention && { retention }) });
    return { storage, times, agent };
  });
  for (let run = 0; run < runs; run++)
    for (const { agent, times } of run % 2 === 0 ? contestants : contestants.toReversed())
      await oneRun(agent, times, run);
  const [without = 0, configured = 0] = contestants.map(({ times }) => median(times.saves));
  for (const { storage } of contestants) await storage.log.close();
  return configured / without;
}

async function oneRun(agent: ReturnType<typeof loopingAgent>, times: StepTimes, run: number): Promise<void> {
  times.leave();
  await agent.run(1, { agentId, runId: `run-${run}` });
}
