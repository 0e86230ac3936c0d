import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { encrypted, reencrypt } from "../../src/encryption.ts";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { AgentFolder } from "../../src/storage/file/layout/AgentFolder.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { FaultyFileSystem } from "../storage/file/support/FaultyFileSystem.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { testKeys } from "./encryptedHarness.ts";
import { bytesUnder } from "./storedBytes.ts";

async function append({ log }: LogPersistenceStorageProvider, logId: string, record: object): Promise<void> {
  const owned = await log.open(logId, processOwner());
  await owned.append({ id: `x-${owned.position}`, records: [record as never] }, owned.position);
  await owned.release();
}

/** Changes a byte of a log. An unreadable log is one whose list entry is damaged, too. */
async function damage(directory: string, logId: string, { isUnreadable = false } = {}): Promise<void> {
  const folder = new AgentFolder(join(directory, "tasks"), logId, nodeSha256);
  const file = folder.segment(1);
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"wrapped":"', '"wrapped":"changed'));
  if (isUnreadable) await writeFile(folder.state, "{");
}

it("encrypts the other data keys if some are damaged, and reports the damaged ones", async () => {
  const directory = await testDirectory();
  const open = () => new FilePersistenceStorageProvider({ directory });
  const storage = encrypted(open(), { keys: testKeys("first") });
  const long = "l".repeat(1_020);
  for (const agentId of ["a", "b", "c", "d", "e", long]) await append(storage, agentId, { kind: "note" });
  await damage(directory, "data_key:a");
  await damage(directory, "data_key:d", { isUnreadable: true });
  const [of] = (await collect(open().log.read("data_key:e"))).flatMap(({ records }) => records);
  await append(open(), "data_key:b", { ...of });
  await append(open(), "data_key:c", { kind: "data_key", agentId: "c" });
  const [ofLong = ""] = (await collect(open().log.list({ status: "data_key" })))
    .map(({ agentId }) => agentId)
    .filter((logId) => logId.startsWith("data_key:#"));
  await damage(directory, ofLong);
  const results = await collect(reencrypt(encrypted(open(), { keys: testKeys("second", "first") })));
  const found = results.map(({ agentId, changed, error }) => [agentId, changed, error?.code] as const);
  expect(found.toSorted(([one], [other]) => (one < other ? -1 : 1))).toEqual([
    ["a", false, "corrupt_log"],
    ["b", false, "authentication_failed"],
    ["c", false, "authentication_failed"],
    ["d", false, "corrupt_log"],
    [ofLong, false, "corrupt_log"],
    ["e", true, undefined],
  ]);
});

it("leaves no earlier data key, even if an earlier change of the key ended at any call to the file system", async () => {
  const original = await testDirectory();
  const open = (directory: string, fileSystem = new FaultyFileSystem()) =>
    new FilePersistenceStorageProvider({ directory, fileSystem });
  await append(encrypted(open(original), { keys: testKeys("first") }), "a", { kind: "note" });
  const [stored] = (await collect(open(original).log.read("data_key:a"))).flatMap(({ records }) => records);
  const { wrapped } = stored as unknown as { readonly wrapped: string };
  const keys = testKeys("second", "first");
  const change = async (call: number) => {
    const [directory, fileSystem] = [await testDirectory(), new FaultyFileSystem()];
    await cp(original, directory, { recursive: true });
    fileSystem.failAt(call, "EIO", true);
    await collect(reencrypt(encrypted(open(directory, fileSystem), { keys }))).catch(() => []);
    const calls = [...fileSystem.calls];
    fileSystem.heal();
    const results = await collect(reencrypt(encrypted(open(directory, fileSystem), { keys })));
    return { call, calls, error: results[0]?.error, isLeft: (await bytesUnder(directory)).includes(wrapped) };
  };
  const { calls } = await change(Infinity);
  const changes = calls.flatMap((name, at) => (/^(?:readFile|readdir|stat)$/.test(name) ? [] : at + 1));
  const found = await Promise.all(changes.map((call) => change(call)));
  expect(found.flatMap(({ call, error, isLeft }) => (error || isLeft ? [{ call, error, isLeft }] : []))).toEqual([]);
});
