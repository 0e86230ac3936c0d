import { readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { persistence } from "agent-persistence";
import { backupStorage, restoreBackup } from "agent-persistence/backup";
import { encrypted } from "agent-persistence/encryption";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { bytesUnder } from "../encryption/storedBytes.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { finish, storages, waitingPayer } from "../transfer/movedAgents.ts";

const keys = testKeys("first");
/** A stored input. Shorter texts are in random bytes now and then. */
const secret = '"ann"';
const newDirectory = async () => join(await testDirectory(), "backup");
const open = (): Promise<LogPersistenceStorageProvider> =>
  (storages["files"] as () => Promise<LogPersistenceStorageProvider>)();
const keyIdsIn = async (directory: string) => {
  const names = await readdir(join(directory, "logs"));
  const files = await Promise.all(names.map((name) => readFile(join(directory, "logs", name), "latin1")));
  return files.map((text) => (JSON.parse(text.slice(0, text.indexOf("\n"))) as { readonly keyId?: string }).keyId);
};

/** Two agents, of which one waits and has an event in its inbox. */
async function twoAgents(storage: LogPersistenceStorageProvider) {
  const waiting = await waitingPayer(storage, "waiting");
  await waiting.durable.send("news", { at: 1 });
  await waitingPayer(storage, "finished");
  await finish(waiting, "finished");
  return waiting;
}

describe("an encrypted backup", () => {
  it("is restored with its keys, and written again only where a log changed", async () => {
    const [source, target, directory] = [await open(), await open(), await newDirectory()];
    const made = await twoAgents(source);
    const logs = ["finished", "inbox:waiting", "waiting"];
    expect((await backupStorage(source, { directory, keys })).written.toSorted()).toEqual(logs);
    expect(await keyIdsIn(directory)).toEqual(["first", "first", "first"]);
    expect((await bytesUnder(directory)).toString("latin1")).not.toContain(secret);
    expect((await backupStorage(source, { directory, keys })).unchanged.toSorted()).toEqual(logs);
    await finish(made, "waiting");
    expect(await backupStorage(source, { directory, keys })).toMatchObject({ written: ["waiting"], failed: [] });
    expect((await restoreBackup(target, { directory, keys })).restored.toSorted()).toEqual(logs);
    expect(await target.getLatestCheckpoint("waiting")).toEqual(await source.getLatestCheckpoint("waiting"));
  });

  it("writes a log again that another log with the same id replaced", async () => {
    const [source, other, directory] = [await open(), encrypted(await open(), { keys }), await newDirectory()];
    await waitingPayer(source, "a");
    await waitingPayer(other, "a");
    await backupStorage(source, { directory, keys });
    expect((await backupStorage(other, { directory, keys })).written).toEqual(["a"]);
    expect((await backupStorage(other, { directory, keys })).unchanged).toEqual(["a"]);
    const [target, read] = [await open(), encrypted(await open(), { keys })];
    for (const storage of [target, read]) await restoreBackup(storage, { directory, keys });
    expect(await target.getLatestCheckpoint("a")).toEqual(await other.getLatestCheckpoint("a"));
    expect(await read.getLatestCheckpoint("a")).toEqual(await other.getLatestCheckpoint("a"));
  });

  it("is the default of an encrypted storage", async () => {
    const [source, directory] = [encrypted(await open(), { keys }), await newDirectory()];
    await twoAgents(source);
    expect(await backupStorage(source, { directory })).toMatchObject({ failed: [] });
    expect((await bytesUnder(directory)).toString("latin1")).not.toContain(secret);
    const target = encrypted(await open(), { keys: testKeys("second", "first") });
    expect((await restoreBackup(target, { directory })).restored).toHaveLength(3);
  });

  it("names the logs whose archives were changed or whose key is missing", async () => {
    const [source, directory] = [await open(), await newDirectory()];
    await twoAgents(source);
    await backupStorage(source, { directory, keys });
    const missing = await restoreBackup(await open(), { directory, keys: testKeys("second") });
    expect(missing.failed.map(({ error }) => (error as { readonly code: string }).code)).toEqual(
      Array(3).fill("key_missing"),
    );
    const names = await readdir(join(directory, "logs"));
    const [one = "", two = ""] = names.map((name) => join(directory, "logs", name));
    const bytes = await readFile(one);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    await writeFile(one, bytes);
    const { agentId } = JSON.parse((await readFile(two, "latin1")).split("\n")[0] ?? "") as { agentId: string };
    await backupStorage(source, { directory: await newDirectory() });
    const plain = await newDirectory();
    await backupStorage(source, { directory: plain });
    expect((await bytesUnder(plain)).toString("latin1")).toContain(secret);
    await writeFile(two, await readFile(join(plain, "logs", two.slice(-48))));
    const target = await open();
    const report = await restoreBackup(target, { directory, keys });
    expect(report.failed.map(({ error }) => (error as { readonly code: string }).code)).toEqual([
      "authentication_failed",
      "invalid_archive",
    ]);
    expect(report.failed.at(-1)?.logId).toBe(agentId);
    expect(report.restored).toHaveLength(1);
  });

  it("encrypts archives of an earlier key again, also of deleted logs, and plain ones of logs that exist", async () => {
    const [source, directory] = [await open(), await newDirectory()];
    const { agent } = await twoAgents(source);
    await backupStorage(source, { directory });
    await backupStorage(source, { directory, keys });
    await persistence(agent).deleteAgent("finished");
    expect(await keyIdsIn(directory)).toEqual(["first", "first", "first"]);
    expect((await bytesUnder(directory)).toString("latin1")).not.toContain(secret);
    await backupStorage(source, { directory, keys: testKeys("second", "first") });
    expect(await keyIdsIn(directory)).toEqual(["second", "second", "second"]);
    const target = await open();
    expect((await restoreBackup(target, { directory, keys: testKeys("second") })).restored).toHaveLength(3);
  });

  it("accepts no plain archive of a log that the storage does not have", async () => {
    const [source, other, directory] = [await open(), await open(), await newDirectory()];
    await waitingPayer(source, "a");
    await waitingPayer(other, "forged");
    const forged = await newDirectory();
    await backupStorage(other, { directory: forged });
    await backupStorage(source, { directory, keys });
    const [name = ""] = await readdir(join(forged, "logs"));
    await writeFile(join(directory, "logs", name), await readFile(join(forged, "logs", name)));
    const failed = [{ logId: "forged", error: expect.objectContaining({ code: "invalid_archive" }) as unknown }];
    expect(await backupStorage(source, { directory, keys })).toMatchObject({ unchanged: ["a"], failed });
    expect(await restoreBackup(await open(), { directory, keys })).toMatchObject({ restored: ["a"], failed });
    const removed = await backupStorage(source, { directory, keys, removeDeleted: true });
    expect(removed).toMatchObject({ deleted: ["forged"], failed: [] });
  });

  it("does not become plain if the keys were forgotten and the archives cannot be read", async () => {
    const [source, directory] = [await open(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory, keys });
    const [name = ""] = await readdir(join(directory, "logs"));
    const archive = join(directory, "logs", name);
    await rm(archive);
    await symlink(name, archive);
    await expect(backupStorage(source, { directory })).rejects.toMatchObject({ code: "storage_failed", path: archive });
    expect(await readlink(archive)).toBe(name);
  });

  it("does not become plain because the keys were forgotten", async () => {
    const [source, directory] = [await open(), await newDirectory()];
    await waitingPayer(source, "a");
    await backupStorage(source, { directory, keys });
    await expect(backupStorage(source, { directory })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("keys"),
    });
    await backupStorage(source, { directory, keys: false });
    expect(await keyIdsIn(directory)).toEqual([undefined]);
  });
});

it("a restore into an encrypted storage reports an agent with the id of a data key, and restores the others", async () => {
  const [source, directory] = [await open(), await newDirectory()];
  const ids = ["a", "c", "data_key:b"];
  for (const agentId of ids) await waitingPayer(source, agentId);
  expect((await backupStorage(source, { directory })).written.toSorted()).toEqual(ids);
  const { restored, failed } = await restoreBackup(encrypted(await open(), { keys }), { directory });
  expect(restored.toSorted()).toEqual(["a", "c"]);
  expect(failed).toMatchObject([{ logId: "data_key:b", error: { code: "invalid_agent_id" } }]);
});
