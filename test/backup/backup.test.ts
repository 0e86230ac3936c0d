import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { access, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { persistence } from "agent-persistence";
import { backupStorage, markRestored, restoreBackup } from "agent-persistence/backup";
import { BackupBusyError } from "agent-persistence/errors";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { encrypted } from "agent-persistence/encryption";
import { PersistenceSession } from "agent-persistence/openai-agents";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { exportAgent, finishMove, importAgent } from "agent-persistence/transfer";
import { describe, expect, it, vi } from "vitest";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { bytesOf, finish, payer, storages, waitingPayer } from "../transfer/movedAgents.ts";

const newDirectory = async () => join(await testDirectory(), "backup");

async function recordsOf({ log }: LogPersistenceStorageProvider, agentId: string) {
  const records = [];
  for await (const entry of log.read(agentId)) records.push(...entry.records);
  return records;
}

/** Waits for an answer, and has an event in its inbox. */
async function twoAgents(storage: LogPersistenceStorageProvider) {
  const waiting = await waitingPayer(storage, "waiting");
  await waiting.durable.send("news", { at: 1 });
  await waitingPayer(storage, "finished");
  await finish(waiting, "finished");
  return waiting;
}

for (const [name, open] of Object.entries(storages))
  describe(`a backup of a storage in ${name}`, () => {
    it("restores agents as copies that run after a takeover", async () => {
      const [source, target, directory] = [await open(), await open(), await newDirectory()];
      const { paid } = await twoAgents(source);
      const logs = ["finished", "inbox:waiting", "waiting"];
      const made = await backupStorage(source, { directory });
      expect({ ...made, written: made.written.toSorted() }).toEqual({
        written: logs,
        unchanged: [],
        deleted: [],
        failed: [],
      });
      const restored = await restoreBackup(target, { directory });
      expect({ ...restored, restored: restored.restored.toSorted() }).toEqual({
        restored: logs,
        existing: [],
        failed: [],
      });
      for (const id of logs) {
        const records = await recordsOf(source, id);
        expect((await recordsOf(target, id)).slice(0, records.length)).toEqual(records);
      }
      const there = payer(target, paid);
      await expect(there.agent.resume({ agentId: "waiting" })).rejects.toMatchObject({ code: "agent_copied" });
      await expect(there.agent.run("bob", { agentId: "finished" })).rejects.toMatchObject({ code: "agent_copied" });
      expect(paid).toHaveLength(2);
      await there.feature.agent("waiting").takeOver();
      await finish(there, "waiting");
      expect(paid).toHaveLength(3);
    });

    it("writes only changed logs again, and removes deleted ones on request", async () => {
      const [source, directory] = [await open(), await newDirectory()];
      const made = await twoAgents(source);
      await backupStorage(source, { directory });
      const sorted = (ids: readonly string[]) => ids.toSorted();
      const second = await backupStorage(source, { directory });
      expect(sorted(second.unchanged)).toEqual(["finished", "inbox:waiting", "waiting"]);
      await finish(made, "waiting");
      await persistence(made.agent).deleteAgent("finished");
      const third = await backupStorage(source, { directory });
      expect(third).toEqual({ written: ["waiting"], unchanged: ["inbox:waiting"], deleted: ["finished"], failed: [] });
      expect(await restoreBackup(await open(), { directory })).toMatchObject({
        restored: expect.arrayContaining(["finished"]),
      });
      expect((await backupStorage(source, { directory, removeDeleted: true })).deleted).toEqual(["finished"]);
      const target = await open();
      expect(sorted((await restoreBackup(target, { directory })).restored)).toEqual(["inbox:waiting", "waiting"]);
    });

    it("writes a log again that another log with the same id replaced", async () => {
      const [source, other, directory] = [await open(), await open(), await newDirectory()];
      for (const [storage, to] of [
        [source, "ann"],
        [other, "bob"],
      ] as const)
        await payer(storage).agent.run(to, { agentId: "a" });
      await backupStorage(source, { directory });
      expect(await backupStorage(other, { directory })).toMatchObject({ written: ["a"], unchanged: [] });
      const target = await open();
      await restoreBackup(target, { directory });
      expect((await recordsOf(target, "a")).slice(0, -1)).toEqual(await recordsOf(other, "a"));
      expect((await backupStorage(other, { directory })).unchanged).toEqual(["a"]);
    });

    it("keeps existing logs when a restore is repeated", async () => {
      const [source, target, directory] = [await open(), await open(), await newDirectory()];
      await waitingPayer(source, "a");
      await backupStorage(source, { directory });
      await restoreBackup(target, { directory });
      const before = await recordsOf(target, "a");
      expect(await restoreBackup(target, { directory })).toEqual({ restored: [], existing: ["a"], failed: [] });
      expect(await recordsOf(target, "a")).toEqual(before);
    });

    it("marks all agents as copies after a restore with other tools", async () => {
      const source = await open();
      const { agent, feature } = await twoAgents(source);
      const marked = await markRestored(source);
      expect({ ...marked, marked: marked.marked.toSorted() }).toEqual({ marked: ["finished", "waiting"], failed: [] });
      expect(await markRestored(source)).toEqual({ marked: [], failed: [] });
      await expect(agent.resume({ agentId: "waiting" })).rejects.toMatchObject({ code: "agent_copied" });
      for await (const { agentId } of feature.unfinished()) expect(agentId).toBe("none");
    });

    it("does not write an agent again that was only marked as a copy, and notices a later move", async () => {
      const [source, directory] = [await open(), await newDirectory()];
      await waitingPayer(source, "a");
      await backupStorage(source, { directory });
      await markRestored(source);
      expect(await backupStorage(source, { directory })).toMatchObject({ written: [], unchanged: ["a"] });
      await payer(source).feature.agent("a").takeOver();
      const { receipt } = await importAgent(await open(), exportAgent(source, "a", { move: true }));
      expect(await backupStorage(source, { directory })).toMatchObject({ written: [], unchanged: ["a"] });
      await finishMove(source, "a", receipt);
      expect(await backupStorage(source, { directory })).toMatchObject({ written: [], deleted: ["a"] });
    });
  });

describe("markRestored()", () => {
  it("reports only the agents that it could not mark, and marks all others", async () => {
    const source = await memory();
    for (const agentId of ["busy", "free", "other"]) await waitingPayer(source, agentId);
    const owned = await source.log.open("busy", { host: "h", processId: 1, nonce: "n" });
    const { marked, failed } = await markRestored(source);
    expect(marked).toEqual(["free", "other"]);
    expect(failed.map(({ logId }) => logId)).toEqual(["busy"]);
    await owned.release();
    expect(await markRestored(source)).toEqual({ marked: ["busy"], failed: [] });
  });
});

describe("a backup", () => {
  it("copies the log of a running agent up to its last append", async () => {
    const [source, target] = [
      await (storages["files"] as () => Promise<LogPersistenceStorageProvider>)(),
      await newDirectory(),
    ];
    const directory = await newDirectory();
    const { durable } = await waitingPayer(source, "a");
    const owned = await source.log.open("b", { host: "h", processId: 1, nonce: "n" });
    await durable.answer((await durable.getRequests())[0]?.requestId ?? "", true);
    expect((await backupStorage(source, { directory })).written).toEqual(["a"]);
    await owned.release();
    const there = new FilePersistenceStorageProvider({ directory: target });
    await restoreBackup(there, { directory });
    expect(await there.getLatestCheckpoint("a")).toEqual(await source.getLatestCheckpoint("a"));
  });

  it("finds damage in an archive, and restores the others", async () => {
    const [source, target, directory] = [await memory(), await memory(), await newDirectory()];
    for (const id of ["a", "b"]) await waitingPayer(source, id);
    await backupStorage(source, { directory });
    const [first = "", second = ""] = (await readdir(join(directory, "logs"))).map((name) =>
      join(directory, "logs", name),
    );
    const bytes = await readFile(first);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 300) ^ 1, bytes.length - 300);
    await writeFile(first, bytes);
    const one = await restoreBackup(target, { directory });
    expect(one).toMatchObject({ existing: [], failed: [{ error: { code: "invalid_archive" } }] });
    expect(one.restored).toHaveLength(1);
    await writeFile(second, "{");
    expect(await restoreBackup(await memory(), { directory })).toMatchObject({
      restored: [],
      failed: [{ logId: second }, { error: { code: "invalid_archive" } }],
    });
  });

  it("restores the other logs if archives cannot be read", async () => {
    const [source, target, directory] = [await memory(), await memory(), await newDirectory()];
    for (const agentId of ["a", "b", "c"]) await waitingPayer(source, agentId);
    await backupStorage(source, { directory });
    const names = (await readdir(join(directory, "logs"))).toSorted();
    const [first = "", , last = ""] = names.map((name) => join(directory, "logs", name));
    await rm(first);
    await mkdir(first);
    const onProgress = () => rmSync(last, { force: true });
    const { restored, failed } = await restoreBackup(target, { directory, onProgress });
    expect(restored).toHaveLength(1);
    expect(failed).toMatchObject([{ logId: first, error: { path: first } }, { error: { path: last } }]);
  });

  it("restores values that an import refuses by default", async () => {
    const [source, target, directory] = [await memory(), await memory(), await newDirectory()];
    const { durable } = await waitingPayer(source, "a");
    await durable.send("large", randomBytes(13_000_000).toString("base64"));
    await backupStorage(source, { directory });
    expect((await restoreBackup(target, { directory })).restored.toSorted()).toEqual(["a", "inbox:a"]);
    const limited = await restoreBackup(await memory(), { directory, maxPartBytes: 1_000_000 });
    expect(limited.failed).toMatchObject([{ logId: "inbox:a", error: { code: "invalid_archive" } }]);
  });

  it("does not restore an agent under the name of another log, or as another kind of log", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory });
    const [name = ""] = await readdir(join(directory, "logs"));
    const text = await readFile(join(directory, "logs", name), "latin1");
    await writeFile(
      join(directory, "logs", name),
      text.replace('"generation"', '"shape":"thread","generation"'),
      "latin1",
    );
    expect(await restoreBackup(await memory(), { directory })).toMatchObject({
      restored: [],
      failed: [{ logId: "a", error: { code: "invalid_archive" } }],
    });
    await rename(join(directory, "logs", name), join(directory, "logs", `${"0".repeat(40)}.archive`));
    expect(await restoreBackup(await memory(), { directory })).toMatchObject({ restored: [], failed: [{}] });
  });

  it("does not restore the archive of a move, whose agent could run without a takeover", async () => {
    const [source, target, directory] = [await memory(), await memory(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory });
    const [name = ""] = await readdir(join(directory, "logs"));
    await writeFile(join(directory, "logs", name), await bytesOf(exportAgent(source, "a", { move: true })));
    const failed = [{ logId: "a", error: { code: "invalid_archive" } }];
    expect(await restoreBackup(target, { directory })).toMatchObject({ restored: [], failed });
  });

  it("copies a pruned session whose large values were removed", async () => {
    const [source, target, directory] = [await memory(), await memory(), await newDirectory()];
    const session = new PersistenceSession({ storage: source, sessionId: "s" });
    await session.addItems([{ type: "message", role: "user", content: "old ".repeat(10_000) }]);
    await session.clearSession();
    await session.addItems([{ type: "message", role: "user", content: "new ".repeat(10_000) }]);
    await session.prune();
    expect(await backupStorage(source, { directory })).toMatchObject({ written: ["session:s"], failed: [] });
    expect(await restoreBackup(target, { directory })).toMatchObject({ restored: ["session:s"], failed: [] });
    const restored = new PersistenceSession({ storage: target, sessionId: "s" });
    expect(await restored.getItems()).toEqual(await session.getItems());
  });

  it("contains an agent that is pruned while it is copied", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    const made = await waitingPayer(source, "a");
    await finish(made, "a");
    await made.agent.run("bob", { agentId: "a" });
    await finish(made, "a");
    const { blobs } = source.log;
    const get = blobs.get.bind(blobs);
    const reads = vi.spyOn(blobs, "get").mockImplementationOnce(async (agentId, reference) => {
      await made.feature.prune({ agentId, policy: { maxCheckpoints: 2 } });
      return get(agentId, reference);
    });
    expect(await backupStorage(source, { directory })).toMatchObject({ written: ["a"], failed: [] });
    expect(reads).toHaveBeenCalled();
  });

  it("reports a missing large value of a session", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    const session = new PersistenceSession({ storage: source, sessionId: "s" });
    await session.addItems([{ type: "message", role: "user", content: "new ".repeat(10_000) }]);
    const { blobs } = source.log;
    const lost = { get: async () => undefined };
    const log = new Proxy(source.log, {
      get: (target, key) => {
        if (key === "blobs") return Object.assign(Object.create(blobs) as object, lost);
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const broken = new LogPersistenceStorageProvider(log);
    expect(await backupStorage(broken, { directory })).toMatchObject({
      written: [],
      failed: [{ logId: "session:s", error: { code: "unreadable_value" } }],
    });
  });

  it("refuses the storage below an encrypted one", async () => {
    const inner = await memory();
    const storage = encrypted(inner, { keys: { current: "k", get: () => new Uint8Array(32).fill(1) } });
    await waitingPayer(storage, "a");
    await expect(backupStorage(inner, { directory: await newDirectory() })).rejects.toThrow(
      "expected the storage that encrypted() returned",
    );
    const [target, directory] = [await memory(), await newDirectory()];
    await backupStorage(storage, { directory, keys: false });
    expect((await restoreBackup(target, { directory })).restored).toEqual(["a"]);
  });

  it("keeps the archives when the storage is empty", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory });
    expect(await backupStorage(await memory(), { directory })).toMatchObject({ deleted: ["a"] });
    expect((await restoreBackup(await memory(), { directory })).restored).toEqual(["a"]);
  });

  it("refuses a directory into which another backup writes, and accepts it afterwards", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    for (const id of ["a", "b"]) await waitingPayer(source, id);
    let second: Promise<unknown> | undefined;
    const onProgress = () => {
      second ??= backupStorage(source, { directory, removeDeleted: true }).catch((error: unknown) => error);
    };
    const wait = waitingBefore(source, async () => void (await second));
    expect((await backupStorage(wait, { directory, onProgress })).written.toSorted()).toEqual(["a", "b"]);
    const refused = (await second) as BackupBusyError;
    expect(refused).toBeInstanceOf(BackupBusyError);
    expect(refused).toMatchObject({ code: "backup_busy", directory, owner: { processId: process.pid } });
    expect(refused.message).toContain("back up into another directory");
    expect((await backupStorage(source, { directory })).unchanged.toSorted()).toEqual(["a", "b"]);
  });

  it.each([
    ["generation", /"generation":1/, '"generation":7'],
    ["kind", /(?=,"checksum")/, ',"shape":"thread"'],
  ])("writes an archive again whose first line has another %s", async (_field, found, changed) => {
    const [source, directory] = [await memory(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory });
    const [name = ""] = await readdir(join(directory, "logs"));
    const file = join(directory, "logs", name);
    const text = await readFile(file, "latin1");
    expect(text).toMatch(found);
    await writeFile(file, text.replace(found, changed), "latin1");
    expect((await backupStorage(source, { directory })).written).toEqual(["a"]);
    expect((await restoreBackup(await memory(), { directory })).restored).toEqual(["a"]);
  });

  it("writes an archive of an earlier version again, whose first line has no checksum", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory });
    const [name = ""] = await readdir(join(directory, "logs"));
    const file = join(directory, "logs", name);
    const text = await readFile(file, "latin1");
    await writeFile(file, text.replace(/,"checksum":"[^"]+"/, ""), "latin1");
    expect((await backupStorage(source, { directory })).written).toEqual(["a"]);
    expect(await readFile(file, "latin1")).toBe(text);
  });

  it("continues in a directory whose first backup was cut short", async () => {
    const directory = await newDirectory();
    await mkdir(directory);
    await writeFile(join(directory, `backup.json.${crypto.randomUUID()}.unfinished`), "{");
    expect((await backupStorage(await memory(), { directory })).failed).toEqual([]);
  });

  it("refuses a directory with other content, and leaves it unchanged", async () => {
    const directory = await testDirectory();
    await writeFile(join(directory, "mine"), "x");
    const refused = { code: "invalid_input", message: expect.stringContaining("expected a backup of this version") };
    await expect(backupStorage(await memory(), { directory })).rejects.toMatchObject(refused);
    await expect(restoreBackup(await memory(), { directory })).rejects.toMatchObject(refused);
    expect(await readdir(directory)).toEqual(["mine"]);
    const missing = join(directory, "none");
    await expect(restoreBackup(await memory(), { directory: missing })).rejects.toThrow("found none");
    await expect(access(join(directory, "none"))).rejects.toThrow("ENOENT");
  });

  it("names misspelled options", async () => {
    const options = { directory: "d", onProgres: () => {} } as never;
    await expect(backupStorage(await memory(), options)).rejects.toThrow('did you mean "onProgress"');
  });

  it("stops with the reason of its signal, and stays a backup", async () => {
    const [source, directory] = [await memory(), await newDirectory()];
    for (const id of ["a", "b"]) await waitingPayer(source, id);
    const stop = new AbortController();
    const stopped = backupStorage(source, {
      directory,
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("full")),
    });
    await expect(stopped).rejects.toThrow("full");
    expect((await restoreBackup(await memory(), { directory })).restored).toHaveLength(1);
  });

  it("detects a directory that was restored with another tool only after it is marked", async () => {
    const [directory, copy] = [await testDirectory(), await newDirectory()];
    const source = new FilePersistenceStorageProvider({ directory });
    const { paid } = await waitingPayer(source, "a");
    await cp(directory, copy, { recursive: true });
    await rm(directory, { recursive: true });
    const restored = new FilePersistenceStorageProvider({ directory: copy });
    expect(await markRestored(restored)).toEqual({ marked: ["a"], failed: [] });
    await expect(payer(restored, paid).agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "agent_copied" });
  });
});

/** A storage that waits before it exports a log. */
function waitingBefore(
  { log }: LogPersistenceStorageProvider,
  before: () => Promise<void>,
): LogPersistenceStorageProvider {
  const encodedAppends: typeof log.encodedAppends = async function* (...given) {
    await before();
    yield* log.encodedAppends?.(...given) ?? [];
  };
  return new LogPersistenceStorageProvider(delegatingLog(log, { encodedAppends }));
}

function memory(): Promise<LogPersistenceStorageProvider> {
  return (storages["memory"] as () => Promise<LogPersistenceStorageProvider>)();
}
