import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { PersistenceSaver } from "agent-persistence/langgraph";
import { expect, test, vi } from "vitest";
import { gathered, type Saved, SavedThread } from "./savedThread.ts";

const State = Annotation.Root({ said: Annotation<string> });
/** The state of a subgraph that counts its runs. */
const Memory = Annotation.Root({
  runs: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  said: Annotation<string>,
});
const thread = { configurable: { thread_id: "order-7" } };

const serializers = [
  ["the default serializer", undefined],
  ["another serializer", new JsonPlusSerializer()],
] as const;

test.each(serializers)("a pruned thread keeps its delta channels with %s", async (_which, serde) => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider(), serde });
  const graph = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
    .addNode("answer", ({ messages }) => ({ messages: [new AIMessage({ id: `a${messages.length}`, content: "a" })] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
  const idsAt = async (config: RunnableConfig): Promise<unknown> =>
    ((await graph.getState(config)).values as { messages: BaseMessage[] }).messages.map(({ id }) => id);
  for (const id of ["h0", "h2"]) await graph.invoke({ messages: [new HumanMessage({ id, content: "q" })] }, thread);
  await checkpointer.prune("order-7", { keep: 1 });
  expect(await idsAt(thread)).toEqual(["h0", "a1", "h2", "a3"]);
  const copy = await graph.updateState((await graph.getState(thread)).config, null, "__copy__");
  expect(await idsAt(copy)).toEqual(["h0", "a1", "h2", "a3"]);
});

test.each(
  serializers.flatMap(([which, serde]) =>
    (["sync", "async", "exit"] as const).map((durability) => [durability, which, serde] as const),
  ),
)("a pruned thread continues in its subgraph: %s, with %s", async (durability, _which, serde) => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider(), serde });
  let effects = 0;
  const inner = new StateGraph(State)
    .addNode("charge", () => ({ said: `charged ${++effects}` }))
    .addNode("ask", ({ said }) => ({ said: `${said}, ${interrupt<string, string>("ok?")}` }))
    .addEdge(START, "charge")
    .addEdge("charge", "ask")
    .compile();
  const graph = new StateGraph(State)
    .addNode("inner", inner)
    .addEdge(START, "inner")
    .addEdge("inner", END)
    .compile({ checkpointer });
  await graph.invoke({ said: "" }, { ...thread, durability });
  await checkpointer.prune("order-7", { keep: 1 });
  expect(await graph.invoke(new Command({ resume: "yes" }), thread)).toEqual({ said: "charged 1, yes" });
});

test("a pruning keeps the checkpoint of a subgraph until its parent in the root graph is removed", async () => {
  const { saver } = new SavedThread();
  const configOf = (checkpoint_ns: string) => ({ configurable: { thread_id: "order-7", checkpoint_ns } });
  const put = async (namespace: string, id: string, parents: Record<string, string> = {}): Promise<void> => {
    const checkpoint = { v: 4, id, ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };
    await saver.put(configOf(namespace), checkpoint, { source: "loop", step: 0, parents }, {});
  };
  const isKept = async (): Promise<boolean> => {
    await saver.prune("order-7", { keep: 1 });
    return (await saver.getTuple(configOf("inner:task"))) !== undefined;
  };
  await put("inner:task", "c", { "": "b" });
  await put("", "a");
  expect(await isKept()).toBe(true);
  await put("", "b");
  expect(await isKept()).toBe(true);
  await put("", "d");
  expect(await isKept()).toBe(false);
});

test("a run from a pruned thread with the durability exit has the memory of its subgraph", async () => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const counting = new StateGraph(Memory)
    .addNode("count", () => ({ runs: 1 }))
    .addNode("ask", ({ runs }) => ({ said: `run ${runs}, ${interrupt<string, string>("ok?")}` }))
    .addEdge(START, "count")
    .addEdge("count", "ask")
    .compile({ checkpointer: true });
  const graph = new StateGraph(State)
    .addNode("counting", async (state, config) => ({ said: (await counting.invoke(state, config)).said }))
    .addEdge(START, "counting")
    .addEdge("counting", END)
    .compile({ checkpointer });
  const exit = { ...thread, durability: "exit" } as const;
  for (let run = 0; run < 3; run++) {
    await graph.invoke({ said: "" }, exit);
    await graph.invoke(new Command({ resume: "yes" }), exit);
  }
  await checkpointer.prune("order-7", { keep: 2 });
  const [, waiting] = await gathered(graph.getStateHistory(thread));
  await graph.invoke(null, { ...waiting!.config, durability: "exit" });
  expect(await graph.invoke(new Command({ resume: "yes" }), exit)).toEqual({ said: "run 3, yes" });
});

test("a run from any checkpoint of a pruned thread has the memory of its subgraph", async () => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const counting = new StateGraph(Memory)
    .addNode("count", ({ runs }) => ({ runs: 1, said: `run ${runs + 1}` }))
    .addEdge(START, "count")
    .compile({ checkpointer: true });
  const graph = new StateGraph(State)
    .addNode("counting", async (state, config) => ({ said: (await counting.invoke(state, config)).said }))
    .addEdge(START, "counting")
    .addEdge("counting", END)
    .compile({ checkpointer });
  for (let run = 0; run < 3; run++) await graph.invoke({ said: "" }, thread);
  await checkpointer.prune("order-7", { keep: 3 });
  const kept = await gathered(graph.getStateHistory(thread));
  expect(kept.map(({ next }) => next)).toEqual([[], ["counting"], ["__start__"]]);
  for (const { config } of kept.slice(1)) expect(await graph.invoke(null, config)).toEqual({ said: "run 3" });
});

test("a pruning keeps the memory of a subgraph from before the parent of a copied checkpoint", async () => {
  const saved = new SavedThread();
  const memory = { configurable: { ...thread.configurable, checkpoint_ns: "memory" } } as unknown as Saved;
  await saved.put(memory, { a: 0 }, { id: "0" });
  const parent = await saved.put(undefined, { a: 1 }, { id: "1" });
  await saved.put(memory, { a: 2 }, { id: "2" });
  await saved.put(parent, { a: 3 }, { id: "3", source: "fork" });
  await saved.saver.prune("order-7", { keep: 1 });
  // LangGraph asks for this one when it runs from the copy.
  const before = { configurable: { checkpoint_id: "1" } };
  const found = await gathered(saved.saver.list(memory, { before, limit: 1 }));
  expect(found.map(({ checkpoint }) => checkpoint.id)).toEqual(["0"]);
});

test("a pruning removes all checkpoints of finished subgraphs", async () => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const inner = new StateGraph(State)
    .addNode("answer", () => ({ said: "done" }))
    .addEdge(START, "answer")
    .compile();
  const graph = new StateGraph(State)
    .addNode("twice", async (state, config) => inner.invoke(await inner.invoke(state, config), config))
    .addEdge(START, "twice")
    .addEdge("twice", END)
    .compile({ checkpointer });
  for (let run = 0; run < 3; run++) await graph.invoke({ said: "" }, thread);
  await checkpointer.prune("order-7", { keep: 1 });
  const kept = await gathered(checkpointer.list(thread));
  expect(kept.map(({ config }) => config.configurable?.["checkpoint_ns"])).toEqual([""]);
});

test.each([
  ["pruned", (saver: PersistenceSaver) => saver.prune("order-7", { keep: 1 })],
  ["deleted", (saver: PersistenceSaver) => saver.deleteThread("order-7")],
])("a list leaves out the checkpoints that are %s meanwhile", async (_how, remove) => {
  for (const isOther of [false, true]) {
    const { saved, last } = await savedThread();
    const { saver, storage } = saved;
    const reader = isOther ? new PersistenceSaver({ storage }) : saver;
    const listed: unknown[] = [];
    for await (const { checkpoint } of reader.list(thread)) {
      listed.push(checkpoint.id);
      if (listed.length === 1) await remove(saver);
    }
    expect(listed).toEqual([last.configurable.checkpoint_id]);
  }
});

test("a checkpoint whose value is missing cannot be read", async () => {
  const { saver, storage } = (await savedThread()).saved;
  vi.spyOn(storage.log.blobs, "get").mockResolvedValue(undefined);
  await expect(saver.getTuple(thread)).rejects.toMatchObject({ code: "unreadable_value" });
});

/** Saves three checkpoints with large values. */
async function savedThread(): Promise<{ readonly saved: SavedThread; readonly last: Saved }> {
  const saved = new SavedThread();
  let last = await saved.put(undefined, { list: ["a".repeat(20_000)] });
  for (const letter of ["b", "c"]) last = await saved.put(last, { list: [letter.repeat(20_000)] });
  return { saved, last };
}
