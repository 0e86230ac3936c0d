import {
  AIAgent,
  callModel,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { afterEach, expect, it, vi } from "vitest";
import { nestedOrder } from "../../../src/replay/trace/traceVisits.ts";
import { readRecording } from "../../../src/replay/recording/readRecording.ts";
import { replayRecording } from "../../../src/replay/run/replayRecording.ts";
import { MessageHistory } from "../../../src/checkpoint/messages/MessageHistory.ts";

const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "ok" } }) };

afterEach(() => vi.restoreAllMocks());

/** Counts the reads of messages through `MessageHistory.entries`. */
function countedReads(): { count: number } {
  const reads = { count: 0 };
  const views = new WeakMap<object, MessageHistory["entries"]>();
  const property = Object.getOwnPropertyDescriptor(MessageHistory.prototype, "entries");
  vi.spyOn(MessageHistory.prototype, "entries", "get").mockImplementation(function (this: MessageHistory) {
    const entries = property?.get?.call(this) as MessageHistory["entries"];
    const view = views.get(entries) ?? counting(entries, reads);
    views.set(entries, view);
    return view;
  } as () => MessageHistory["entries"]);
  return reads;
}

function counting<Items extends object>(items: Items, reads: { count: number }): Items {
  return new Proxy(items, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads.count++;
      return Reflect.get(target, key) as unknown;
    },
  });
}

/** Records a run of many nodes, and returns a function that makes its agent again. */
async function recorded(storage: InMemoryPersistenceStorageProvider, rounds: number) {
  let left = 0;
  const agent = () => {
    left = rounds;
    const loop = strategy<string, string>("loop", (graph) => {
      const ask = graph.node("ask", callModel);
      const next = graph.node("next", async () => "go on");
      graph.edge(graph.start, ask);
      graph.edge(ask, next);
      graph.edge(next, ask, { when: () => --left > 0 });
      graph.edge(next, graph.finish);
    });
    const options = { promptExecutor: model, llmModel: "m", strategy: loop, maxIterations: 10 * rounds };
    return new AIAgent(options).install(Persistence, { storage });
  };
  await agent().run("hello", { agentId: "a" });
  return agent;
}

async function readsOfReplay(rounds: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = await recorded(storage, rounds);
  const reads = countedReads();
  const { matches, trace } = await replayRun(agent(), { storage, agentId: "a" });
  expect([matches, trace.visits.length]).toEqual([true, 2 * rounds]);
  vi.restoreAllMocks();
  return reads.count;
}

it("a replay reads each message a few times, however long the history is", async () => {
  const [short, long] = [await readsOfReplay(20), await readsOfReplay(80)];
  expect(short).toBeGreaterThan(0);
  expect(long).toBeLessThan(6 * short);
});

async function readsOfCheckpoints(rounds: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = await recorded(storage, rounds);
  const recording = await readRecording(storage.log, "a");
  const reads = { count: 0 };
  const parts = recording.line.parts.map((part) => ({ ...part, checkpoints: counting(part.checkpoints, reads) }));
  const { matches } = await replayRecording(agent(), { ...recording, line: { ...recording.line, parts } });
  expect(matches).toBe(true);
  return reads.count;
}

it("a replay reads each checkpoint a few times, however long the run is", async () => {
  const [short, long] = [await readsOfCheckpoints(20), await readsOfCheckpoints(80)];
  expect(short).toBeGreaterThan(0);
  expect(long).toBeLessThan(6 * short);
});

/** Returns the least processor time of several sorts, in microseconds. */
function timeToSort(count: number): number {
  const log = { lines: { nestedLine: () => undefined } } as never;
  const visits = Array.from({ length: count }, (_visit, order) => ({ lane: 1, order }));
  const times = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    expect(nestedOrder(log, visits)).toHaveLength(count);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.max(1, Math.min(...times));
}

it("the time to sort the visits of a trace does not grow with the square of their number", () => {
  timeToSort(2_000);
  const [short, long] = [timeToSort(2_000), timeToSort(16_000)];
  expect(long).toBeLessThan(25 * short);
});

/** Returns how often a sort of visits looks up a line. Each visit of the main line contains a nested line. */
function lookUpsToSort(count: number): number {
  let lookUps = 0;
  const nestedLine = (lane: number) => {
    lookUps++;
    return lane === 1 ? undefined : { first: lane, begun: lane, place: { parent: 1 } };
  };
  const visits = Array.from({ length: count }, (_visit, at) => [
    { lane: at + 2, order: at + 2.2 },
    { lane: 1, order: at + 2.4 },
  ]).flat();
  expect(nestedOrder({ lines: { nestedLine } } as never, visits)).toEqual(visits);
  return lookUps;
}

it("looks up a nested line a few times, however many there are", () => {
  expect(lookUpsToSort(800)).toBeLessThan(16 * lookUpsToSort(100));
});
