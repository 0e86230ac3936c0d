import { describe, expect, it } from "vitest";
import { destroyKey, encrypted, encryptedStreams, reencrypt } from "../../src/encryption.ts";
import { InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { InMemoryStreamStore, FileStreamStore } from "../../src/streams.ts";
import { streamStoreConformance } from "../../src/testing.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { testKeys } from "./encryptedHarness.ts";
import { bytesUnder, openBooks } from "./storedBytes.ts";

const record = (value: string) => ({ kind: "example", value });
const wrapped = /"wrapped":"([A-Za-z0-9_-]+)"/;

async function store({ log }: LogPersistenceStorageProvider, agentId: string, value: string): Promise<void> {
  const owned = await log.open(agentId, processOwner());
  await owned.append({ id: `x-${owned.position}`, records: [record(value)] }, owned.position);
  await owned.release();
}

async function outcomeOf({ log }: LogPersistenceStorageProvider, agentId: string): Promise<unknown> {
  const read = collect(log.read(agentId));
  return read.then(
    (entries) => entries.map(({ records }) => (records[0] as { readonly value?: unknown } | undefined)?.value),
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );
}

describe.each(Object.entries(openBooks))("the data keys of a storage %s", (_name, open) => {
  it("leave no bytes once they are destroyed, and the others stay", async () => {
    const { storage: stored, bytes, tidy } = await open();
    const storage = encrypted(stored, { keys: testKeys("first") });
    for (const agentId of ["a", "inbox:a", "b"]) await store(storage, agentId, `of ${agentId}`);
    const keyBytes = await keysOf(stored);
    await destroyKey(storage, "a");
    await destroyKey(storage, "a");
    for (const agentId of ["a", "inbox:a"]) expect(await outcomeOf(storage, agentId)).toBe("key_missing");
    expect(await outcomeOf(storage, "b")).toEqual(["of b"]);
    const again = encrypted(stored, { keys: testKeys("first") });
    for (const agentId of ["a", "inbox:a"]) expect(await outcomeOf(again, agentId)).toBe("key_missing");
    tidy?.();
    const left = (await bytes()).toString("latin1");
    expect(keyBytes.filter((key) => left.includes(key))).toEqual(keyBytes.slice(-1));
  });

  it("are encrypted with the current key by reencrypt(), also while agents run", async () => {
    const { storage: stored, bytes, tidy } = await open();
    const old = encrypted(stored, { keys: testKeys("first") });
    for (const agentId of ["a", "b"]) await store(old, agentId, `of ${agentId}`);
    const keyBytes = await keysOf(stored);
    const owned = await old.log.open("a", processOwner());
    const both = encrypted(stored, { keys: testKeys("second", "first") });
    expect(await collect(reencrypt(both))).toEqual([
      { agentId: "a", changed: true },
      { agentId: "b", changed: true },
    ]);
    expect(await collect(reencrypt(both))).toEqual([
      { agentId: "a", changed: false },
      { agentId: "b", changed: false },
    ]);
    await owned.append({ id: "more", records: [record("more")] }, 1);
    await owned.release();
    const next = encrypted(stored, { keys: testKeys("second") });
    expect(await outcomeOf(next, "a")).toEqual(["of a", "more"]);
    expect(await outcomeOf(next, "b")).toEqual(["of b"]);
    tidy?.();
    const left = (await bytes()).toString("latin1");
    expect(keyBytes.filter((key) => left.includes(key))).toEqual([]);
    const gone = await collect(reencrypt(encrypted(stored, { keys: testKeys("third") })));
    expect(gone.map(({ agentId, changed, error }) => [agentId, changed, error?.code])).toEqual([
      ["a", false, "key_missing"],
      ["b", false, "key_missing"],
    ]);
  });
});

describe.each(Object.entries(openBooks))("the data keys of a storage %s", (_name, open) => {
  it("stay readable after many rotations, by openings and by reencrypt()", async () => {
    const { storage: stored } = await open();
    const used = ["first"];
    await store(encrypted(stored, { keys: testKeys("first") }), "a", "kept");
    for (const current of ["second", "third", "fourth", "fifth"]) {
      const storage = encrypted(stored, { keys: testKeys(current, ...used) });
      if (used.length % 2 === 1) expect(await collect(reencrypt(storage))).toEqual([{ agentId: "a", changed: true }]);
      else await (await storage.log.open("a", processOwner())).release();
      used.push(current);
      expect(await outcomeOf(encrypted(stored, { keys: testKeys(current) }), "a")).toEqual(["kept"]);
    }
    const last = encrypted(stored, { keys: testKeys("fifth") });
    await (await last.log.open("a", processOwner())).drop();
    await store(last, "a", "again");
    for (const current of ["sixth", "seventh"]) {
      await collect(reencrypt(encrypted(stored, { keys: testKeys(current, "fifth", "sixth") })));
      expect(await outcomeOf(encrypted(stored, { keys: testKeys(current) }), "a")).toEqual(["again"]);
    }
  });
});

/** Returns the stored forms of all data keys, the one of `b` last. */
async function keysOf({ log }: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const found: string[] = [];
  for (const agentId of ["a", "inbox:a", "b"])
    for (const { records } of await collect(log.read(`data_key:${agentId}`)))
      found.push(wrapped.exec(JSON.stringify(records))?.[1] ?? "");
  return found.filter((key) => key !== "");
}

describe("destroyKey", () => {
  it("refuses an agent that runs, and a storage that is not encrypted", async () => {
    const stored = new InMemoryPersistenceStorageProvider();
    const storage = encrypted(stored, { keys: testKeys("first") });
    await store(storage, "a", "kept");
    const owned = await storage.log.open("a", processOwner());
    await expect(destroyKey(storage, "a")).rejects.toMatchObject({ code: "agent_busy" });
    await owned.release();
    expect(await outcomeOf(storage, "a")).toEqual(["kept"]);
    await expect(destroyKey(stored, "a")).rejects.toMatchObject({ code: "not_supported" });
  });

  it("leaves an agent that can be deleted and made again with another key", async () => {
    const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys: testKeys("first") });
    await store(storage, "a", "old");
    await destroyKey(storage, "a");
    const owned = await storage.log.open("a", processOwner());
    await owned.drop();
    await store(storage, "a", "new");
    expect(await outcomeOf(storage, "a")).toEqual(["new"]);
  });
});

describe("a key management service", () => {
  it("encrypts and decrypts the data keys, and its failures are failures of the storage", async () => {
    let fails = false;
    const calls: string[] = [];
    const flip = async (operation: string, bytes: Uint8Array, context: string) => {
      if (fails) throw new Error("unreachable");
      calls.push(`${operation} ${context.includes('"a"')}`);
      return bytes.map((byte) => byte ^ 0x5a);
    };
    const service = {
      wrap: (bytes: Uint8Array, context: string) => flip("wrap", bytes, context),
      unwrap: (bytes: Uint8Array, context: string) => flip("unwrap", bytes, context),
    };
    const stored = new InMemoryPersistenceStorageProvider();
    const storage = () => encrypted(stored, { keys: { current: "kms", get: async () => service } });
    await store(storage(), "a", "one");
    expect(await outcomeOf(storage(), "a")).toEqual(["one"]);
    expect(calls).toEqual(["wrap true", "unwrap true", "unwrap true"]);
    fails = true;
    expect(await outcomeOf(storage(), "a")).toBe("storage_failed");
  });
});

describe("encrypted streams", () => {
  const stores = {
    "in memory": async () => new InMemoryStreamStore(),
    "in files": async () => new FileStreamStore({ directory: await testDirectory() }),
  };
  describe.each(Object.entries(stores))("%s", (_name, make) => {
    it.each(streamStoreConformance)("$name", (test) =>
      test.run(async () => {
        const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys: testKeys("first") });
        return { store: encryptedStreams(await make(), storage) };
      }),
    );
  });

  it("store no chunk in plain text, and refuse a moved entry", async () => {
    const directory = await testDirectory();
    const files = new FileStreamStore({ directory });
    const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys: testKeys("first") });
    const streams = encryptedStreams(files, storage);
    await streams.append("a", { writer: 1, first: 1, chunks: ["the secret", "of a stream"] });
    expect((await bytesUnder(directory)).toString()).not.toMatch(/the secret|of a stream/);
    expect(await streams.read("a", { writer: 1, number: 1 })).toEqual([
      { writer: 1, first: 1, chunks: ["the secret", "of a stream"] },
    ]);
    const [entry] = await files.read("a");
    await files.append("a", { writer: 1, first: 3, chunks: entry?.chunks ?? [] });
    await expect(streams.read("a")).rejects.toMatchObject({ code: "authentication_failed" });
  });
});
