import type { RunnableConfig } from "@langchain/core/runnables";
import { DeltaSnapshot, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { expect, test, vi } from "vitest";
import { PersistenceSaver } from "../../../src/integrations/langgraph/PersistenceSaver.ts";
import type { ItemsRecord } from "../../../src/integrations/langgraph/thread/GraphRecord.ts";
import { gathered, type Saved, SavedThread } from "./savedThread.ts";

test("two branches with the same version of a channel keep different values", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { list: ["a"] }, { versions: { list: 1 } });
  const one = await thread.put(root, { list: ["a", "one"] }, { versions: { list: 2 } });
  const other = await thread.put(root, { list: ["a", "other"] }, { versions: { list: 2 } });
  const { saver } = thread;
  const carried = await saver.put(
    one,
    { ...(await saver.getTuple(one))!.checkpoint, id: "carried" },
    { source: "loop", step: 3, parents: {} },
    {},
  );
  expect(await thread.values(one)).toEqual({ list: ["a", "one"] });
  expect(await thread.values(other)).toEqual({ list: ["a", "other"] });
  expect((await saver.getTuple(carried))?.checkpoint.channel_values).toEqual({ list: ["a", "one"] });
});

test("the latest checkpoint is the last stored one, not the one with the greatest id", async () => {
  const thread = new SavedThread();
  const first = await thread.put(undefined, { a: 1 }, { id: "z" });
  await thread.put(first, { a: 2 }, { id: "b" });
  expect(await thread.values(undefined)).toEqual({ a: 2 });
  const listed = await gathered(thread.saver.list(thread.config));
  expect(listed.map(({ checkpoint }) => checkpoint.id)).toEqual(["b", "z"]);
});

test("a put with a known id replaces the checkpoint, and children keep their values", async () => {
  const thread = new SavedThread();
  const first = await thread.put(undefined, { list: ["old"] }, { id: "first" });
  const child = await thread.put(first, { list: ["old", "new"] });
  await thread.put(undefined, { list: ["replaced"] }, { id: "first" });
  expect(await thread.values(first)).toEqual({ list: ["replaced"] });
  expect(await thread.values(child)).toEqual({ list: ["old", "new"] });
  expect(await thread.values(undefined)).toEqual({ list: ["old", "new"] });
  expect(await gathered(thread.saver.list(thread.config))).toHaveLength(2);
});

test("writes of an ancestor apply to a child if they were made after the previous child and before this one", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const root = await thread.put(undefined, { log: new DeltaSnapshot([]) });
  await saver.putWrites(root, [["log", ["one"]]], "task");
  const elder = await thread.put(root, {});
  await saver.putWrites(root, [["log", ["two"]]], "task");
  const younger = await thread.put(root, {});
  await saver.putWrites(root, [["log", ["late"]]], "other");
  const read = async (config: typeof root): Promise<unknown[]> => {
    const history = await saver.getDeltaChannelHistory({ config, channels: ["log"] });
    return history["log"]!.writes.map(([, , value]) => value);
  };
  expect(await read(elder)).toEqual([["one"]]);
  expect(await read(younger)).toEqual([["two"]]);
});

test("each branch of an imported thread has the delta channel writes of its parent", async () => {
  const theirs = new MemorySaver();
  const put = async (parent: string | undefined, id: string, log?: unknown): Promise<RunnableConfig> => {
    const config = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: parent } };
    const channel_values = log === undefined ? {} : { log };
    const checkpoint = { v: 4, id, ts: "", channel_values, channel_versions: { log: 1 }, versions_seen: {} };
    return theirs.put(config, checkpoint, { source: "loop", step: 1, parents: {} });
  };
  await theirs.putWrites(await put(undefined, "a", new DeltaSnapshot(["seed"])), [["log", ["more"]]], "task");
  const children = [await put("a", "b"), await put("a", "c")];
  const own = await put("a", "d", new DeltaSnapshot(["own"]));
  const { saver } = new SavedThread();
  await saver.importThread(theirs, "t");
  for (const config of children) {
    const wanted = { config, channels: ["log"] };
    expect(await saver.getDeltaChannelHistory(wanted)).toEqual(await theirs.getDeltaChannelHistory(wanted));
  }
  expect((await saver.getTuple(own))?.checkpoint.channel_values).toEqual({ log: new DeltaSnapshot(["own"]) });
});

test("a copy of the parent of its checkpoint takes no writes", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { log: new DeltaSnapshot(["seed"]) });
  await thread.saver.putWrites(root, [["log", ["pending"]]], "task");
  const fork = await thread.put(root, {}, { source: "fork" });
  const history = await thread.saver.getDeltaChannelHistory({ config: fork, channels: ["log"] });
  expect(history["log"]).toEqual({ seed: new DeltaSnapshot(["seed"]), writes: [] });
});

test("a copy of a checkpoint has the writes of its original, also after a pruning", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { log: new DeltaSnapshot(["seed"]) });
  const putAfter = async (write: string, version: number, source: "loop" | "fork" = "loop"): Promise<Saved> => {
    if (source === "loop") await thread.saver.putWrites(root, [["log", [write]]], "task");
    return thread.put(root, {}, { source, versions: { log: version } });
  };
  await putAfter("original", 2);
  await putAfter("other", 3);
  const copy = await putAfter("", 2, "fork");
  const writes = async (saver = thread.saver): Promise<unknown> =>
    (await saver.getDeltaChannelHistory({ config: copy, channels: ["log"] }))["log"]?.writes;
  expect(await writes()).toEqual([["task", "log", ["original"]]]);
  await thread.saver.prune("order-7", { keep: 1 });
  expect(await gathered(thread.saver.list(thread.config))).toHaveLength(1);
  expect(await writes(new PersistenceSaver({ storage: thread.storage }))).toEqual([["task", "log", ["original"]]]);
});

test("a copy of a checkpoint has the values passed to it, regardless of the versions", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: "root" });
  const child = await thread.put(root, { a: "child" });
  const { checkpoint } = (await thread.saver.getTuple(child))!;
  const copy = await thread.saver.put(
    root,
    { ...checkpoint, id: "copy" },
    { source: "fork", step: 2, parents: {} },
    {},
  );
  expect((await thread.saver.getTuple(copy))?.checkpoint.channel_values).toEqual({ a: "child" });
});

test("a repeated regular write counts once, and a special write has its last value", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, {});
  await thread.saver.putWrites(root, [["a", 1]], "task");
  const stored = await recordsOf(thread);
  await thread.saver.putWrites(root, [["a", 2]], "task");
  expect(await recordsOf(thread)).toBe(stored);
  await thread.saver.putWrites(root, [["__resume__", "x"]], "task");
  await thread.saver.putWrites(root, [["__resume__", "y"]], "task");
  expect((await thread.saver.getTuple(root))?.pendingWrites).toEqual([
    ["task", "__resume__", "y"],
    ["task", "a", 1],
  ]);
});

test("a loop on a thread that another owner continued is refused even after a list of its history", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: 1 });
  await thread.saver[Symbol.asyncDispose]();
  await using other = new PersistenceSaver({ storage: thread.storage });
  await thread.put(root, { a: "other" }, { saver: other });
  expect(await gathered(thread.saver.list(thread.config))).toHaveLength(2);
  await expect(thread.put(root, { a: 2 })).rejects.toMatchObject({ code: "thread_continued" });
});

test("a checkpoint after one that a pruning keeps only for delta channels is refused", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: "kept", log: new DeltaSnapshot(["seed"]) });
  await thread.saver.putWrites(root, [["log", ["more"]]], "task");
  const child = await thread.put(root, {}, { versions: {} });
  await thread.saver.prune("order-7", { keep: 1 });
  const { checkpoint } = (await thread.saver.getTuple(child))!;
  const next = { ...checkpoint, id: uuid6(1_000), channel_values: { a: "kept" }, channel_versions: { a: 1 } };
  const update = { source: "update", step: 2, parents: {} } as const;
  await expect(thread.saver.put(root, next, update, {})).rejects.toMatchObject({ code: "thread_deleted" });
  await expect(thread.saver.putWrites(root, [["a", 1]], "other")).rejects.toMatchObject({ code: "thread_deleted" });
});

test("a checkpoint whose parent was pruned can be copied within its thread", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, { a: "root" });
  await thread.put(root, { a: "child" });
  await thread.saver.prune("order-7", { keep: 1 });
  const copy = await thread.put(root, { a: "copy" }, { source: "fork" });
  expect(await thread.values(copy)).toEqual({ a: "copy" });
  await thread.saver.deleteThread("order-7");
  await expect(thread.put(root, { a: "late" }, { source: "fork" })).rejects.toMatchObject({ code: "thread_deleted" });
});

test("a pruning removes the delta channel writes of a branch whose copy has its own values", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const root = await thread.put(undefined, { log: new DeltaSnapshot(["seed"]) });
  await saver.putWrites(root, [["log", ["one"]]], "task");
  const own = [{ log: new DeltaSnapshot(["own"]) }, { versions: { log: 100 } }] as const;
  await thread.put(root, ...own);
  await saver.putWrites(root, [["log", ["two"]]], "other");
  const branch = await thread.put(root, {}, { versions: { log: 101 } });
  await saver.prune("order-7", { keep: 2 });
  await thread.put(root, own[0], { ...own[1], source: "fork" });
  await saver.prune("order-7", { keep: 2 });
  await saver[Symbol.asyncDispose]();
  await using reopened = new PersistenceSaver({ storage: thread.storage });
  const { log } = await reopened.getDeltaChannelHistory({ config: branch, channels: ["log"] });
  expect(log).toEqual({ seed: new DeltaSnapshot(["seed"]), writes: [["other", "log", ["two"]]] });
});

test("copies a thread that a graph continues meanwhile", async () => {
  const thread = new SavedThread();
  const first = await thread.put(undefined, { list: ["a".repeat(20_000)] });
  const { blobs } = thread.storage.log;
  const get = blobs.get.bind(blobs);
  vi.spyOn(blobs, "get").mockImplementationOnce(async (...given) => {
    await thread.put(first, { list: ["b".repeat(100)] });
    return get(...given);
  });
  const copied = await thread.saver.getTuple(await thread.saver.copyThread("order-7", "copy"));
  expect(copied?.checkpoint.channel_values).toEqual({ list: ["a".repeat(20_000)] });
});

test("a copy up to a checkpoint has no writes after it, and a copy of the last checkpoint has all", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const first = await thread.put(undefined, { a: 1 });
  await saver.putWrites(first, [["a", 2]], "task");
  const last = await thread.put(first, { a: 2 });
  await saver.putWrites(last, [["__interrupt__", "?"]], "later");
  const early = await saver.copyThread(first, "early");
  expect(await saver.getTuple(early)).toMatchObject({ checkpoint: { channel_values: { a: 1 } }, pendingWrites: [] });
  const whole = await saver.copyThread(last, "whole");
  const pendingWrites = [["later", "__interrupt__", "?"]];
  expect(await saver.getTuple(whole)).toMatchObject({ checkpoint: { channel_values: { a: 2 } }, pendingWrites });
});

test("a copy has the whole thread unless the source names a checkpoint, even if it names a subgraph", async () => {
  const thread = new SavedThread();
  const { saver } = thread;
  const inSubgraph = { configurable: { thread_id: "order-7", checkpoint_ns: "sub", checkpoint_id: undefined } };
  const first = await thread.put(undefined, { a: 1 });
  await saver.put(inSubgraph, (await saver.getTuple(first))!.checkpoint, { source: "loop", step: 0, parents: {} }, {});
  await thread.put(first, { a: 2 });
  const copy = await saver.copyThread(inSubgraph, "copy");
  expect((await saver.getTuple(copy))?.checkpoint.channel_values).toEqual({ a: 2 });
});

/** How many records a thread has. */
async function recordsOf({ storage }: SavedThread): Promise<number> {
  let count = 0;
  for await (const { records } of storage.log.read("thread:order-7")) count += records.length;
  return count;
}

test.each(["$plain", "$blob"])("a value in the stored form of its predecessor (%s) is stored", async (key) => {
  const thread = new SavedThread();
  const text = "t".repeat(key === "$blob" ? 20_000 : 100);
  const value = key === "$blob" ? text : { $plain: text };
  let last = await thread.put(undefined, { list: [value], one: value });
  const items: unknown[] = [];
  for await (const { records } of thread.storage.log.read("thread:order-7"))
    for (const record of records) if (record.kind === "items") items.push(...(record as ItemsRecord).items);
  const [stored] = items;
  expect(stored).toHaveProperty(key);
  last = await thread.put(last, { list: [stored], one: stored });
  expect(await thread.values(last)).toEqual({ list: [stored], one: stored });
});
