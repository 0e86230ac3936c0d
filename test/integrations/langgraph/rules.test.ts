import { AIMessage } from "@langchain/core/messages";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { DeltaSnapshot, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { expect, test, vi } from "vitest";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { PersistenceSaver } from "../../../src/integrations/langgraph/PersistenceSaver.ts";
import type { ItemsRecord } from "../../../src/integrations/langgraph/thread/GraphRecord.ts";
import { Telemetry } from "../../../src/telemetry/Telemetry.ts";
import type { TelemetryOperation, TelemetrySpan } from "../../../src/telemetry/TelemetryOperation.ts";
import { gathered, type Saved, SavedThread } from "./savedThread.ts";

test("the arguments of put are captured before the first await", async () => {
  const thread = new SavedThread();
  const list = [{ text: "then" }];
  const put = thread.put(undefined, { list });
  list[0]!.text = "later";
  list.push({ text: "more" });
  expect(await thread.values(await put)).toEqual({ list: [{ text: "then" }] });
});

test("a message that the graph changes in place is stored in both versions", async () => {
  const thread = new SavedThread();
  const message = new AIMessage({ id: "m", content: "draft" });
  const first = await thread.put(undefined, { messages: [message] });
  message.content = "final";
  const second = await thread.put(first, { messages: [message] });
  expect(contentsOf(await thread.values(first))).toEqual(["draft"]);
  expect(contentsOf(await thread.values(second))).toEqual(["final"]);
});

test("a change within a message, such as an edited call argument, is stored", async () => {
  const call = { id: "c", name: "search", args: { query: { text: "first" } } };
  const thread = new SavedThread();
  const root = await thread.put(undefined, { messages: [new AIMessage({ content: "", tool_calls: [call] })] });
  const [message] = (await thread.values(root))!["messages"] as [AIMessage];
  (message.tool_calls![0]!.args as typeof call.args).query.text = "edited";
  const edited = await thread.put(root, { messages: [message] }, { source: "update" });
  expect((await thread.values(edited))?.["messages"]).toEqual([message]);
  message.tool_calls![0]!.args = { renamed: { text: "edited" } };
  expect((await thread.values(edited))?.["messages"]).not.toEqual([message]);
  const renamed = await thread.put(edited, { messages: [message] }, { source: "update" });
  expect((await thread.values(renamed))?.["messages"]).toEqual([message]);
});

test("a change within a field of a message whose name starts with lc_ is stored", async () => {
  const thread = new SavedThread();
  const source = { step: "first" };
  const message = new AIMessage({ id: "m", content: "", additional_kwargs: { lc_source: source } });
  const root = await thread.put(undefined, { messages: [message] });
  source.step = "edited";
  const edited = await thread.put(root, { messages: [message] });
  const [stored] = (await thread.values(edited))!["messages"] as [AIMessage];
  expect(stored.additional_kwargs).toEqual({ lc_source: { step: "edited" } });
});

test.each<[name: string, change: (message: AIMessage) => unknown]>([
  ["a field in an empty object", ({ additional_kwargs }) => (additional_kwargs["note"] = "new")],
  ["a call in an empty list", ({ invalid_tool_calls }) => invalid_tool_calls!.push({ id: "d", error: "bad" })],
  ["a removed field", ({ response_metadata }) => delete response_metadata["model"]],
  ["a removed call", ({ tool_calls }) => tool_calls!.pop()],
  ["a renamed field with the same value", ({ tool_calls }) => (tool_calls![0]!.args = { renamed: 1, b: [2] })],
  ["an item of a list in the arguments", ({ tool_calls }) => ((tool_calls![0]!.args["b"] as number[])[0] = 3)],
  ["a negative zero", ({ response_metadata }) => (response_metadata["zero"] = -0)],
  ["the content", (message) => (message.content = "new")],
])("a put detects a change of a message in place: %s", async (_name, change) => {
  const thread = new SavedThread();
  const fields = { id: "m", content: "old", response_metadata: { model: "a", zero: 0 } };
  const message = new AIMessage({ ...fields, tool_calls: [{ id: "c", name: "search", args: { a: 1, b: [2] } }] });
  const root = await thread.put(undefined, { messages: [message] });
  change(message);
  const changed = await thread.put(root, { messages: [message] });
  const [stored] = (await thread.values(changed))!["messages"] as [AIMessage];
  const shown = ({ content, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata }: AIMessage) => [
    { content, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata },
  ];
  expect(shown(stored)).toStrictEqual(shown(message));
});

test("a put stores unversioned channels, and all values if it names no new versions", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: 1, sends: ["first"] }, { versions: { a: 1 } });
  expect(await thread.values(root)).toEqual({ a: 1, sends: ["first"] });
  const next = await thread.put(root, { a: 1, sends: ["second"] }, { versions: {} });
  expect(await thread.values(next)).toEqual({ a: 1, sends: ["second"] });
  const { checkpoint, metadata } = (await thread.saver.getTuple(next))!;
  const whole = {
    ...checkpoint,
    id: uuid6(1_000),
    channel_values: { a: 2, sends: [] },
    channel_versions: { a: 2, sends: 1 },
  };
  const config = await thread.saver.put(next, whole, metadata!);
  expect((await thread.saver.getTuple(config))?.checkpoint.channel_values).toEqual({ a: 2, sends: [] });
});

test("a node starts before the storage opens the thread", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const happened: string[] = [];
  const { log } = storage;
  const open = log.open.bind(log);
  log.open = (...given) => {
    happened.push("open");
    return open(...given);
  };
  const checkpointer = new PersistenceSaver({ storage });
  const State = Annotation.Root({ a: Annotation<number>() });
  const inner = new StateGraph(State)
    .addNode("inner", () => {
      happened.push("inner node");
      return {};
    })
    .addEdge(START, "inner")
    .compile({ checkpointer });
  const graph = new StateGraph(State)
    .addNode("outer", async (state) => inner.invoke(state))
    .addEdge(START, "outer")
    .compile({ checkpointer });
  await graph.invoke({ a: 1 }, { configurable: { thread_id: "order-7" } });
  expect(happened).toEqual(["inner node", "open"]);
});

test("a subgraph starts before the checkpoint of its parent is durable", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const { log } = storage;
  const open = log.open.bind(log);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  log.open = async (...given) => {
    const owned = await open(...given);
    const append = owned.append.bind(owned);
    owned.append = (...records) => held.then(() => append(...records));
    return owned;
  };
  const thread = new SavedThread({ storage });
  await thread.saver.withThread("order-7", async () => {
    const put = thread.put(undefined, { a: 1 });
    const config = { configurable: { thread_id: "order-7", checkpoint_ns: "outer:task" } };
    expect(await thread.saver.getTuple(config)).toBeUndefined();
    release();
    await put;
  });
});

test("a deeper change is detected with deep comparison", async () => {
  for (const compare of ["fields", "deep"] as const) {
    const thread = new SavedThread({ compare });
    const item = { nested: { count: 1 } };
    const first = await thread.put(undefined, { list: [item] });
    item.nested.count = 2;
    const second = await thread.put(first, { list: [item] });
    expect(await thread.values(second)).toEqual({ list: [{ nested: { count: compare === "deep" ? 2 : 1 } }] });
  }
});

test("changes by a reader to its values have no effect on the thread", async () => {
  const thread = new SavedThread();
  const stored = await thread.put(undefined, { list: [{ a: 1 }], map: { k: [1] } });
  const values = (await thread.values(stored)) as { list: { a: number }[]; map: { k: number[] } };
  values.list[0]!.a = 2;
  values.list.push({ a: 3 });
  values.map.k.push(2);
  expect(await thread.values(stored)).toEqual({ list: [{ a: 1 }], map: { k: [1] } });
});

test.each(["fields", "deep"] as const)(
  "a message is stored once for any number of references (%s)",
  async (compare) => {
    const thread = new SavedThread({ compare });
    const text = "m".repeat(4000);
    const messages = Array.from({ length: 20 }, (_, at) => new AIMessage({ id: `${at}`, content: `${at}${text}` }));
    let last = await thread.put(undefined, {});
    for (const [at, message] of messages.entries()) {
      await thread.saver.putWrites(
        last,
        [
          ["messages", [message]],
          ["other", message],
        ],
        `task-${at}`,
      );
      last = await thread.put(last, { messages: messages.slice(0, at + 1), last: { message } });
    }
    const copies = messages.map(({ id, content }) => new AIMessage({ ...(id && { id }), content }));
    last = await thread.put(last, { messages: copies.slice(3) });
    expect(contentsOf(await thread.values(last))).toEqual(copies.slice(3).map(({ content }) => content));
    last = await thread.put(last, { messages: new DeltaSnapshot(copies.slice(3)) });
    const snapshot = (await thread.values(last))?.["messages"];
    expect(snapshot).toMatchObject({ value: copies.slice(3).map(({ content }) => ({ content })) });
    const items: unknown[] = [];
    for await (const { records } of thread.storage.log.read("thread:order-7"))
      for (const record of records) if (record.kind === "items") items.push(...(record as ItemsRecord).items);
    expect(items).toHaveLength(20);
  },
);

test("an object in two threads is stored in each", async () => {
  const thread = new SavedThread();
  const message = new AIMessage({ id: "m", content: "m".repeat(4000) });
  await thread.put(undefined, { messages: [message] });
  const other = await thread.put({ configurable: { thread_id: "order-8" } } as Saved, { messages: [message] });
  await thread.saver.deleteThread("order-7");
  expect(contentsOf(await thread.values(other))).toEqual([message.content]);
});

test("the writes of a task and the checkpoint after them are one append", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { messages: [] });
  const before = await lastPosition(thread);
  const message = new AIMessage({ id: "m", content: "hi" });
  await Promise.all([
    thread.saver.putWrites(root, [["messages", [message]]], "task"),
    thread.put(root, { messages: [message] }),
  ]);
  expect(await lastPosition(thread)).toBe(before + 1);
});

test("a graph that continues after its thread was deleted is refused, and a new one starts over", async () => {
  for (const other of [false, true]) {
    const thread = new SavedThread();
    const root = await thread.put(undefined, { a: 1 });
    if (other) {
      await thread.saver[Symbol.asyncDispose]();
      await using second = new PersistenceSaver({ storage: thread.storage });
      await second.deleteThread("order-7");
    } else await thread.saver.deleteThread("order-7");
    await expect(thread.saver.putWrites(root, [["a", 2]], "task")).rejects.toMatchObject({ code: "thread_deleted" });
    await expect(thread.put(root, { a: 2 })).rejects.toMatchObject({ code: "thread_deleted" });
    expect(await thread.saver.getTuple(thread.config)).toBeUndefined();
    await thread.put(undefined, { a: "anew" });
    expect(await thread.values(undefined)).toEqual({ a: "anew" });
  }
});

test("pending writes to a deleted thread are refused", async () => {
  const thread = new SavedThread();
  await thread.put(undefined, { a: 1 });
  await thread.saver.deleteThread("order-7");
  const unknown = { configurable: { thread_id: "order-7", checkpoint_id: "never put" } };
  await expect(thread.saver.putWrites(unknown, [["a", 2]], "task")).rejects.toMatchObject({ code: "thread_deleted" });
});

test("a loop on a thread that another owner continued is refused, but forks and edits are not", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: 1 });
  await thread.saver[Symbol.asyncDispose]();
  const other = new PersistenceSaver({ storage: thread.storage });
  await thread.put(root, { a: "other" }, { saver: other });
  await other[Symbol.asyncDispose]();
  for (const source of ["loop", "input"] as const)
    await expect(thread.put(root, { a: 2 }, { source })).rejects.toMatchObject({ code: "thread_continued" });
  expect(await thread.values(undefined)).toEqual({ a: "other" });
  const fork = await thread.put(root, { a: "fork" }, { source: "fork" });
  await thread.put(fork, { a: "after the fork" });
  await thread.put(root, { a: "edit" }, { source: "update" });
  await thread.saver.getTuple(root);
  await thread.put(root, { a: "travel" }, { source: "input" });
  expect(await thread.values(undefined)).toEqual({ a: "travel" });
});

test("a pruned thread keeps its last checkpoints and the writes of its delta channels", async () => {
  const thread = new SavedThread();
  const long = "m".repeat(3000);
  let last = await thread.put(undefined, { list: [], log: ["seed"] });
  const all = [last];
  for (let at = 0; at < 10; at++) {
    await thread.saver.putWrites(last, [["log", [`${at}`]]], "task");
    const list = Array.from({ length: 3 }, (_, item) => `${at + item} ${long}`);
    const versions = { list: at + 2 };
    last = await thread.put(last, { list }, { versions });
    all.push(last);
  }
  const before = await thread.values(last);
  const history = await thread.saver.getDeltaChannelHistory({ config: last, channels: ["log"] });
  await pruneWith(thread, 2);
  for (const saver of [thread.saver, new PersistenceSaver({ storage: thread.storage })]) {
    expect(await gathered(saver.list(thread.config))).toHaveLength(2);
    expect(await thread.values(last, saver)).toEqual(before);
    expect(await saver.getTuple(all[3]!)).toBeUndefined();
    expect(history["log"]!.writes).toHaveLength(10);
  }
});

test.each([
  ["its thread was deleted", (saver: PersistenceSaver) => saver.deleteThread("order-7")],
  ["its thread was pruned", (saver: PersistenceSaver) => saver.prune("order-7", { keep: 1 })],
])("stores a large object again after %s, also by another process", async (_what, remove) => {
  const storage = new InMemoryPersistenceStorageProvider();
  for (const isOther of [false, true]) {
    const thread = new SavedThread({ storage });
    const big = new AIMessage({ id: "big", content: "b".repeat(30_000) });
    const first = await thread.put(undefined, { messages: [big] });
    await thread.put(first, { messages: [] });
    await remove(isOther ? new PersistenceSaver({ storage }) : thread.saver);
    const last = await thread.saver.getTuple(thread.config);
    const again = await thread.put(last?.config as Saved | undefined, { messages: [big] }, { source: "update" });
    await thread.saver.putWrites(again, [["messages", [big]]], "task");
    for (const saver of [thread.saver, new PersistenceSaver({ storage })])
      expect((await thread.values(again, saver))?.["messages"]).toEqual([big]);
    await thread.saver.deleteThread("order-7");
  }
});

test("finishes a pruning whose removal failed", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const thread = new SavedThread({ storage });
  const first = await thread.put(undefined, { list: ["a".repeat(20_000)] });
  await thread.put(first, { list: ["b".repeat(20_000)] });
  const removal = vi.spyOn(storage.log.blobs, "delete").mockRejectedValueOnce(new Error("out of reach"));
  await expect(thread.saver.prune("order-7", { keep: 1 })).rejects.toThrow("out of reach");
  const { bytes } = await thread.saver.prune("order-7", { keep: 1 });
  expect(bytes).toBeGreaterThan(0);
  expect(removal).toHaveBeenCalledTimes(2);
});

test("numbers later checkpoints alike after a pruning has removed the last number", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const first = await thread.put(undefined, { list: ["first"] }, { id: "a" });
  const second = await thread.put(first, { list: ["b".repeat(20_000)] }, { id: "b" });
  await thread.put(undefined, { list: ["c".repeat(20_000)] }, { id: "a" });
  expect((await saver.prune("order-7", { keep: 1 })).bytes).toBeGreaterThan(19_000);
  const next = await thread.put(second, { list: ["d".repeat(100)] });
  await saver.putWrites(next, [["list", ["e".repeat(100)]]], "task");
  const read = await new PersistenceSaver({ storage: thread.storage }).getTuple(next);
  expect(read?.checkpoint.channel_values).toEqual({ list: ["d".repeat(100)] });
  expect(read?.pendingWrites).toEqual([["task", "list", ["e".repeat(100)]]]);
});

test("a thread can be copied at its head or at a checkpoint", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const text = "t".repeat(20_000);
  const first = await thread.put(undefined, { list: [text] });
  await saver.putWrites(first, [["list", [text]]], "task");
  const second = await thread.put(first, { list: [text, "more"] });
  expect(await saver.copyThread(thread.config, "copy")).toEqual({ configurable: { thread_id: "copy" } });
  await saver.copyThread(first, "early");
  await saver.deleteThread("order-7");
  expect((await saver.getTuple({ configurable: { thread_id: "copy" } }))?.checkpoint.channel_values).toEqual({
    list: [text, "more"],
  });
  const copied = { configurable: { ...second.configurable, thread_id: "copy" } };
  await thread.put(copied, { list: ["own"] });
  const early = await saver.getTuple({ configurable: { thread_id: "early" } });
  expect(early?.checkpoint.channel_values).toEqual({ list: [text] });
  expect((await saver.prune("early", { keep: 1 })).bytes).toBe(0);
  await expect(saver.copyThread("copy", "early")).rejects.toMatchObject({ code: "thread_exists" });
  await expect(saver.copyThread("nobody", "x")).rejects.toMatchObject({ code: "checkpoint_not_found" });
});

test("a thread of another checkpointer can be imported", async () => {
  const theirs = new MemorySaver();
  const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const source = new SavedThread();
  const one = await source.put(undefined, { messages: [new AIMessage({ id: "1", content: "a" })] });
  const tuple = (await source.saver.getTuple(one))!;
  const first = await theirs.put(config, { ...tuple.checkpoint, id: "a" }, tuple.metadata!);
  await theirs.putWrites(first, [["messages", ["x"]]], "b-task", "p1");
  await theirs.putWrites(first, [["messages", ["y"]]], "a-task", "p2");
  await theirs.put(first, { ...tuple.checkpoint, id: "b" }, tuple.metadata!);
  const { saver } = source;
  await saver.importThread(theirs, "t");
  const ours = await gathered(saver.list({ configurable: { thread_id: "t" } }));
  expect(ours).toEqual(await gathered(theirs.list({ configurable: { thread_id: "t" } })));
  await expect(saver.importThread(theirs, "t")).rejects.toMatchObject({ code: "thread_exists" });
});

test("threads are listed without agents", async () => {
  const thread = new SavedThread();
  await thread.put(undefined, { a: 1 });
  await thread.saver.copyThread("order-7", "order-8");
  const listed = await gathered(thread.saver.threads());
  expect(listed.map(({ threadId }) => threadId).sort()).toEqual(["order-7", "order-8"]);
  expect(await gathered(thread.saver.threads({ limit: 1 }))).toHaveLength(1);
});

test("telemetry shows saves and prunings with the errors of failed saves", async () => {
  const telemetry = new Recorder();
  const thread = new SavedThread({ telemetry });
  const first = await thread.put(undefined, { a: 1 }, { id: "one" });
  await thread.put(first, { a: 2 }, { id: "two" });
  await thread.saver.prune("order-7", { keep: 1 });
  await thread.saver.deleteThread("order-7");
  await expect(thread.put(first, { a: 3 }, { id: "three" })).rejects.toMatchObject({ code: "thread_deleted" });
  expect(telemetry.shown).toEqual([
    ["save", "order-7", "one", undefined, false],
    ["save", "order-7", "two", undefined, false],
    ["prune", "order-7", undefined, 1, false],
    ["save", "order-7", "three", undefined, true],
  ]);
});

test.each([
  ["no options", undefined],
  [
    "a three-method storage",
    {
      storage: {
        getCheckpoints: async () => [],
        saveCheckpoint: async () => {},
        getLatestCheckpoint: async () => undefined,
      },
    },
  ],
  ["an unknown option", { storage: new InMemoryPersistenceStorageProvider(), compares: "deep" }],
])("%s is refused", (_what, options) => {
  expect(() => new PersistenceSaver(options as never)).toThrow(/storage|did you mean "compare"|options/);
});

test("wrong configs are refused", async () => {
  const { saver } = new SavedThread();
  await expect(saver.getTuple({ configurable: { thread_id: 7 } })).rejects.toMatchObject({ code: "invalid_input" });
  await expect(saver.deleteThread("")).rejects.toMatchObject({ code: "invalid_input" });
  await expect(saver.prune("t", { keep: 0 })).rejects.toMatchObject({ code: "invalid_input" });
});

async function pruneWith(thread: SavedThread, keep: number): Promise<void> {
  const { bytes } = await thread.saver.prune("order-7", { keep });
  expect(bytes).toBeGreaterThan(10_000);
  expect((await thread.saver.prune("order-7", { keep })).bytes).toBeLessThan(1_000);
}

function contentsOf(values: Record<string, unknown> = {}): readonly unknown[] {
  return (values["messages"] as { content: unknown }[]).map(({ content }) => content);
}

async function lastPosition({ storage }: SavedThread): Promise<number> {
  let last = 0;
  for await (const { position } of storage.log.read("thread:order-7")) last = position;
  return last;
}

class Recorder extends Telemetry {
  readonly shown: unknown[] = [];

  override start({ kind, agentId, checkpointId }: TelemetryOperation): TelemetrySpan {
    return {
      run: (action) => action(),
      end: (facts, failure) =>
        this.shown.push([kind, agentId, checkpointId, facts.prunedCheckpoints, failure !== undefined]),
    };
  }
}
