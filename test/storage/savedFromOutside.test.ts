import { InMemoryPersistenceStorageProvider, storageKey, strategy } from "agent-persistence";
import { type BlobStore, LogPersistenceStorageProvider, processOwner, type RecordLog } from "agent-persistence/storage";
import { expect, test } from "vitest";
import { z } from "zod";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { exampleCheckpoints } from "../../src/testing/conformance/provider/exampleCheckpoint.ts";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";

test("a checkpoint saved outside a run reads the large values of its parent but no older ones", async () => {
  const log = new MemoryRecordLog();
  const reads: string[] = [];
  const blobs: BlobStore = {
    put: (...given) => log.blobs.put(...given),
    delete: (...given) => log.blobs.delete(...given),
    get: (...given) => {
      reads.push(given[1]);
      return log.blobs.get(...given);
    },
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, { blobs }), { inlineThresholdBytes: 1_000 });
  const saved = exampleCheckpoints("order-7", 6).map((checkpoint, at) => ({
    ...checkpoint,
    storage: { kept: "k".repeat(2_000), replaced: String(at).repeat(2_000) },
  }));
  const counts: number[] = [];
  for (const checkpoint of saved) {
    reads.length = 0;
    await storage.saveCheckpoint("order-7", checkpoint);
    counts.push(reads.length);
  }
  expect(counts).toEqual([0, 2, 2, 2, 2, 2]);
  expect(await storage.getCheckpoints("order-7")).toEqual(
    saved.map((each) => expect.objectContaining({ storage: each.storage })),
  );
});

test("each save outside a run reads only the appends since the previous save", async () => {
  const log = new MemoryRecordLog();
  let read = 0;
  const storage = new LogPersistenceStorageProvider(
    delegatingLog(log, {
      async *read(...given: Parameters<RecordLog["read"]>) {
        for await (const entry of log.read(...given)) {
          read++;
          yield entry;
        }
      },
    }),
  );
  const other = new LogPersistenceStorageProvider(log);
  const saved = exampleCheckpoints("order-7", 9);
  const counts: number[] = [];
  for (const [at, checkpoint] of saved.entries()) {
    read = 0;
    await (at === 5 ? other : storage).saveCheckpoint("order-7", checkpoint);
    counts.push(read);
  }
  // The end of what is known, and what follows it.
  expect(counts).toEqual([0, 1, 2, 2, 2, 0, 3, 2, 2]);
  const [fifth, sixth] = [saved[4]!, saved[5]!];
  for (const taken of [fifth, sixth])
    await expect(storage.saveCheckpoint("order-7", { ...taken, version: 20 })).rejects.toMatchObject({
      code: "checkpoint_exists",
    });
  expect((await other.getCheckpoints("order-7")).map(({ checkpointId }) => checkpointId)).toEqual(
    saved.map(({ checkpointId }) => checkpointId),
  );
  await other.log.open("order-7", processOwner()).then((owned) => owned.drop());
  await storage.saveCheckpoint("order-7", saved[0]!);
  expect(await other.getCheckpoints("order-7")).toHaveLength(1);
});

test("ids stay taken after a run stores a newer snapshot", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const draft = storageKey("draft", z.string());
  const writing = strategy<string, string>("writing", (graph) => {
    const write = graph.node("write", (step: string, { storage: kept }) => {
      kept.set(draft, step.padEnd(9_000, "."));
      return String(Number(step) + 1);
    });
    graph.edge(graph.start, write);
    graph.edge(write, write, { when: (step) => !step.endsWith("0") });
    graph.edge(write, graph.finish, { when: (step) => step.endsWith("0") });
  });
  const agent = durableAgent(writing, storage);
  await agent.run("1");
  const [first] = await storage.getCheckpoints("a");
  const again = { ...first!, version: 100 };
  await expect(storage.saveCheckpoint("a", again)).rejects.toMatchObject({ code: "checkpoint_exists" });
  await agent.run("11");
  expect(JSON.stringify(await recordsOf(storage))).toContain('"kind":"snapshot"');
  await expect(storage.saveCheckpoint("a", again)).rejects.toMatchObject({ code: "checkpoint_exists" });
});

test.each([
  ["createdAt", "yesterday", "at"],
  ["iteration", -1, "iteration"],
  ["iteration", undefined, "iteration"],
  ["progress", "half", "progress"],
  ["usage", 7, "usage"],
  ["version", Number.MAX_SAFE_INTEGER, "version"],
  ["tools", [7], "tools"],
  ["decisions", [{ decision: "a", nodeId: "n", decidedAt: "soon" }], "at"],
  ["toolCalls", [{ toolCallId: 1, toolName: "t", effect: "none", input: 1, status: "succeeded", output: 1 }], "call"],
])("a checkpoint with the wrong %s %s is refused, and the agent stays usable", async (field, value, path) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const [first, second] = exampleCheckpoints("order-7", 2);
  if (!first || !second) throw new Error("no example");
  await storage.saveCheckpoint("order-7", first);
  const wrong = { ...second, [field]: value };
  await expect(storage.saveCheckpoint("order-7", wrong)).rejects.toMatchObject({
    code: "invalid_input",
    problems: [{ path }],
  });
  await storage.saveCheckpoint("order-7", second);
  expect(await storage.getCheckpoints("order-7")).toHaveLength(2);
});
