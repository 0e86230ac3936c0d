import { join } from "node:path";
import { AIAgent, Persistence, strategy, type AgentContext, type PromptExecutor } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { FileStreamStore, Streams } from "agent-persistence/streams";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";

/** Medians in milliseconds, of actions that alternate in one process. */
export interface WaitFigures {
  /** A run of two nodes. */
  readonly runMs: number;
  /** The same with a long sleep in between: the run, the due resume and its end. */
  readonly sleepMs: number;
  /** The same as a task: created, found and run by a worker. */
  readonly taskMs: number;
  /** A run with a response of 1,000 parts that a listener receives. */
  readonly deltasMs: number;
  /** The same with a stream store. */
  readonly streamMs: number;
}

const rounds = 60;
const hour = 3_600_000;
const parts = Array.from({ length: 1_000 }, (_unused, number) => `word${number} `);

const model: PromptExecutor = {
  execute: async () => ({ message: { role: "assistant", content: parts.join("") } }),
  async stream(request, onDelta) {
    for (const text of parts) onDelta({ type: "text-delta", text });
    return this.execute(request);
  },
};

const twoNodes = (between: (context: AgentContext) => Promise<unknown>) =>
  strategy<string, string>("two nodes", (graph) => {
    const first = graph.node("first", async (input: string, context: AgentContext) => {
      await between(context);
      return input;
    });
    const second = graph.node("second", (input: string) => input);
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });

/** Measures sleeps, queued tasks and streamed responses on files. */
export async function waits(directory: string): Promise<WaitFigures> {
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "store") });
  const clock = new SimulatedClock();
  const agent = (between: (context: AgentContext) => Promise<unknown>) =>
    new AIAgent({ llmModel: "m", promptExecutor: model, strategy: twoNodes(between) }).install(Persistence, {
      storage,
      clock,
    });
  const plain = agent(async () => undefined);
  const sleeping = agent((context) => context.sleep(hour));
  const asking = agent((context) => context.llm.request());
  const store = new FileStreamStore({ directory: join(directory, "streams") });
  const streaming = agent((context) => context.llm.request()).install(Streams, { store });
  const tasks = new TaskManager({ storage });
  const worker = new TaskWorker({ tasks, agents: plain, concurrency: 1 });
  const onDelta = () => undefined;
  const actions: Readonly<Record<keyof WaitFigures, (id: string) => Promise<unknown>>> = {
    runMs: (agentId) => plain.run("go", { agentId }),
    sleepMs: async (agentId) => {
      await sleeping.run("go", { agentId });
      clock.advance(hour);
      await sleeping.resume({ agentId });
    },
    taskMs: async (taskId) => {
      await tasks.create({ taskId, taskName: "t", inputRequest: "go" });
      await worker.run();
    },
    deltasMs: (agentId) => asking.run("go", { agentId, onDelta }),
    streamMs: (agentId) => streaming.run("go", { agentId, onDelta }),
  };
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++)
    for (const [name, action] of Object.entries(actions)) {
      const ms = await timeOf(() => action(`${name} ${round}`));
      // What runs first compiles the code.
      if (round >= rounds / 6) times.set(name, [...(times.get(name) ?? []), ms]);
    }
  await storage.log.close();
  const of = (name: keyof WaitFigures) => median(times.get(name) ?? []);
  const [runMs, sleepMs, taskMs] = [of("runMs"), of("sleepMs"), of("taskMs")];
  return { runMs, sleepMs, taskMs, deltasMs: of("deltasMs"), streamMs: of("streamMs") };
}
