import { readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { type BlobStore, LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager, type TaskOutcome, TaskWorker } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { StorageError } from "../../src/errors/storageErrors.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { payer, waitingPayer } from "../transfer/movedAgents.ts";
import { testDirectory } from "./file/support/fixture.ts";

type Get = BlobStore["get"];

/** A storage in memory, each with what its next read of a blob does instead. */
function storageIn(log: MemoryRecordLog) {
  const instead: Get[] = [];
  const get: Get = (...asked) => (instead.shift() ?? log.blobs.get.bind(log.blobs))(...asked);
  const { blobs } = log;
  const { put, delete: remove } = { put: blobs.put.bind(blobs), delete: blobs.delete.bind(blobs) };
  const faulty = delegatingLog(log, { blobs: { put, get, delete: remove } });
  return { instead, storage: new LogPersistenceStorageProvider(faulty, { inlineThresholdBytes: 300 }) };
}

const unavailable = () => Promise.reject(new StorageError("unavailable", "get of a blob", "a database"));

async function answered(storage: LogPersistenceStorageProvider): Promise<void> {
  const { durable } = await waitingPayer(storage);
  const [request] = await durable.getRequests();
  await durable.answer(request?.requestId ?? "", true);
}

describe("an unreadable blob", () => {
  it("rejects the resume with storage_failed if the storage fails, and the next resume continues", async () => {
    const log = new MemoryRecordLog();
    await answered(storageIn(log).storage);
    const { instead, storage } = storageIn(log);
    const { agent, feature } = payer(storage);
    for (const _attempt of [1, 2]) {
      instead.push(unavailable);
      await expect(agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "storage_failed" });
      expect(instead).toEqual([]);
    }
    instead.push(unavailable);
    await expect(feature.agent("order-7").getCheckpoints()).rejects.toMatchObject({ code: "storage_failed" });
    expect(await agent.resume({ agentId: "order-7" })).toMatchObject({ status: "completed", output: "ann, 800" });
  });

  it("is read again once it is restored", async () => {
    const log = new MemoryRecordLog();
    await answered(storageIn(log).storage);
    const { instead, storage } = storageIn(log);
    const { agent } = payer(storage);
    for (const _attempt of [1, 2]) {
      instead.push(async () => undefined);
      await expect(agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "unreadable_value" });
      expect(instead).toEqual([]);
    }
    expect(await agent.resume({ agentId: "order-7" })).toMatchObject({ status: "completed", output: "ann, 800" });
  });

  it.each(["away", "damaged"])("whose file was %s is read again once it is restored", async (how) => {
    const directory = await testDirectory();
    const options = { directory, inlineThresholdBytes: 300 };
    await answered(new FilePersistenceStorageProvider(options));
    const names = await readdir(directory, { recursive: true });
    const paths = names.filter((name) => /[0-9a-f]{64}-\d+$/.test(name)).map((name) => join(directory, name));
    expect(paths).not.toEqual([]);
    for (const path of paths) {
      await rename(path, `${path}.away`);
      if (how === "damaged") await writeFile(path, "damaged");
    }
    const { agent } = payer(new FilePersistenceStorageProvider(options));
    const code = how === "damaged" ? "corrupt_blob" : "unreadable_value";
    await expect(agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code });
    for (const path of paths) await rename(`${path}.away`, path);
    expect(await agent.resume({ agentId: "order-7" })).toMatchObject({ status: "completed", output: "ann, 800" });
  });

  it("makes a worker skip the task until the next poll if the storage fails", async () => {
    const log = new MemoryRecordLog();
    const to = "ann ".repeat(100);
    const created = new TaskManager({ storage: storageIn(log).storage });
    await created.create({ taskId: "order-7", taskName: "payer", inputRequest: to });
    const { instead, storage } = storageIn(log);
    instead.push(unavailable);
    const outcomes: TaskOutcome[] = [];
    const over = new AbortController();
    const onOutcome = (outcome: TaskOutcome): void => {
      outcomes.push(outcome);
      if (outcome.outcome !== "interrupted") over.abort();
    };
    const tasks = new TaskManager({ storage });
    const agents = { payer: payer(storage).agent };
    await new TaskWorker({ tasks, agents, onOutcome }).run({ pollMs: 1, signal: over.signal });
    expect(instead).toEqual([]);
    expect(outcomes).toMatchObject([
      { outcome: "interrupted", error: { code: "storage_failed" } },
      { outcome: "waiting" },
    ]);
  });
});
