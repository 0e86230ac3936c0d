import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  tool,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { cpuTimeOf } from "../cpuTimeOf.ts";
import { median } from "../statistics.ts";

/** Medians of CPU time in milliseconds, for runs of 20 steps with a model request and a tool call each. */
export interface ReplayFigures {
  /** Without persistence, by a scripted model. */
  readonly runMs: number;
  /** With the reading of the log in memory. */
  readonly replayMs: number;
}

const steps = 20;
const rounds = 30;
/** The first rounds compile the code and are thrown away. */
const warmUp = 10;
/** In each round, because one run takes less time than the clock can show. */
const runs = 20;

/** Runs an agent without persistence and replays its stored run, in turn. */
export async function replays(): Promise<ReplayFigures> {
  const storage = new InMemoryPersistenceStorageProvider();
  const recorded = agentOf(storage);
  await recorded.run(1, { agentId: "bench" });
  const plain = agentOf(undefined);
  const [run, replay]: [number[], number[]] = [[], []];
  for (let round = 0; round < warmUp + rounds; round++) {
    run.push((await cpuTimeOf(() => times(() => plain.run(1)))) / runs);
    replay.push((await cpuTimeOf(() => times(() => replayRun(recorded, { storage, agentId: "bench" })))) / runs);
  }
  return { runMs: median(run.slice(warmUp)), replayMs: median(replay.slice(warmUp)) };
}

async function times(action: () => Promise<unknown>): Promise<void> {
  for (let count = 0; count < runs; count++) await action();
}

function agentOf(storage: PersistenceStorageProvider | undefined): AIAgent<number, number> {
  const book = tool({
    name: "book",
    description: "",
    inputSchema: z.object({ item: z.string() }),
    effect: "irreversible",
    execute: ({ item }) => ({ made: item }),
  });
  const graph = strategy<number, number>("replays", (g) => {
    const step = g.node("step", async (count: number, { llm, tools }) => {
      const answer = await llm.request();
      llm.append(answer, await tools.execute(answer));
      return count + 1;
    });
    g.edge(g.start, step);
    g.edge(step, step, { when: (count) => count <= steps });
    g.edge(step, g.finish);
  });
  const turn = { text: "Next.", toolCalls: [{ toolName: "book", input: { item: "a seat" } }] };
  const agent = new AIAgent({
    promptExecutor: scriptedModel(Array.from({ length: steps }, () => turn)),
    llmModel: "scripted",
    strategy: graph,
    tools: [book],
  });
  return storage ? agent.install(Persistence, { storage }) : agent;
}
