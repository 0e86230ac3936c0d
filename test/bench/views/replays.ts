import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  tool,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { createFixture, replayFixture, replayRun, type RunFixture } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { readRecording } from "../../../src/replay/recording/readRecording.ts";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { median } from "../measure/statistics.ts";

/** Medians of CPU time in milliseconds, for runs of 20 steps with a model request and a tool call each. */
export interface ReplayFigures {
  /** Without persistence, by a scripted model. */
  readonly runMs: number;
  /** With the reading of the log in memory. */
  readonly replayMs: number;
  /** The reading of the log alone. */
  readonly readMs: number;
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
  const actions: readonly (() => Promise<unknown>)[] = [
    () => plain.run(1),
    () => replayRun(recorded, { storage, agentId: "bench" }),
    () => readRecording(storage.log, "bench"),
  ];
  const took: number[][] = actions.map(() => []);
  for (let round = 0; round < warmUp + rounds; round++)
    for (const [at, action] of actions.entries()) took[at]?.push((await cpuTimeOf(() => times(action))) / runs);
  const [runMs = 0, replayMs = 0, readMs = 0] = took.map((each) => median(each.slice(warmUp)));
  return { runMs, replayMs, readMs };
}

/** Replays 1,000 fixtures of 20 steps, from their texts. Returns the wall time in milliseconds, on one core. */
export async function fixtures(): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = agentOf(storage);
  const texts: string[] = [];
  for (let count = 0; count < 1_000; count++) {
    const agentId = `bench-${count}`;
    await agent.run(1, { agentId });
    texts.push(JSON.stringify(await createFixture(storage, { agentId })));
  }
  const start = performance.now();
  for (const text of texts) {
    const { matches } = await replayFixture(agent, JSON.parse(text) as RunFixture);
    if (!matches) throw new Error("A fixture of equal code does not match.");
  }
  return performance.now() - start;
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
