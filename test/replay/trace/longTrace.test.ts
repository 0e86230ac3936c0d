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

function counting(entries: MessageHistory["entries"], reads: { count: number }): MessageHistory["entries"] {
  return new Proxy(entries, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads.count++;
      return Reflect.get(target, key) as unknown;
    },
  });
}

async function readsOfReplay(rounds: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
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
