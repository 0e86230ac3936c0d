import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { destroyKey, encrypted, encryptedStreams, reencrypt } from "../../src/encryption.ts";
import { AgentBusyError, InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { AgentSummary, RecordLog } from "../../src/storage/RecordLog.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { InMemoryStreamStore, FileStreamStore } from "../../src/streams.ts";
import { streamStoreConformance } from "../../src/testing.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { unwrapKey } from "../../src/encryption/keys/wrapKey.ts";
import { encryptedLog, testKeys } from "./encryptedHarness.ts";
import { bytesUnder, openBooks } from "./storedBytes.ts";

const record = (value: string) => ({ kind: "example", value });
const wrapped = /"wrapped":"([A-Za-z0-9_-]+)"/;

const summaryOf = (agentId: string): AgentSummary => ({
  agentId,
  status: "queued",
  order: agentId,
  requestIds: [],
  position: 0,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  data: {},
});

async function store({ log }: { readonly log: RecordLog }, agentId: string, value: string): Promise<void> {
  const owned = await log.open(agentId, processOwner());
  await owned.append({ id: `x-${owned.position}`, records: [record(value)] }, owned.position);
  await owned.release();
}

async function outcomeOf({ log }: { readonly log: RecordLog }, agentId: string): Promise<unknown> {
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

  it("encrypt an append during a pruning, and are destroyed with the agent after it", async () => {
    const { storage: stored } = await open();
    const storage = encrypted(stored, { keys: testKeys("first") });
    const owned = await storage.log.open("a", processOwner());
    await owned.append({ id: "1", records: [record("1")] }, 0);
    const pruning = owned.prune();
    const appends = ["2", "3"].map((value, at) => owned.append({ id: value, records: [record(value)] }, 1 + at));
    await pruning;
    expect(await Promise.all([...appends, owned.append({ id: "4", records: [record("4")] }, 3)])).toEqual([2, 3, 4]);
    expect(await outcomeOf(storage, "a")).toEqual(["1", "2", "3", "4"]);
    await owned.drop();
    await owned.release();
    expect(await keysOf(stored)).toEqual([]);
  });

  it("do not stay after a failed import", async () => {
    const { storage: stored } = await open();
    const storage = encrypted(stored, { keys: testKeys("first") });
    const received = { generation: 1, appends: [new TextEncoder().encode("no append")] };
    const last = () => Promise.reject(new Error("never called"));
    await expect(storage.log.receive?.("a", processOwner(), received, last)).rejects.toMatchObject({
      code: "corrupt_log",
    });
    expect(await keysOf(stored)).toEqual([]);
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

describe.each(Object.entries(openBooks))("a data key %s that was replaced before a crash", (_name, open) => {
  it("leaves no bytes of its earlier form after the next reencrypt()", async () => {
    const { storage: stored, bytes, tidy } = await open();
    await store(encrypted(stored, { keys: testKeys("first") }), "a", "kept");
    const keyBytes = await keysOf(stored);
    const keys = testKeys("second", "first");
    await expect(encryptedLog(whosePruningsFail(stored.log), keys).keys.refresh("a")).rejects.toThrow("crash");
    const next = encrypted(stored, { keys });
    expect(await collect(reencrypt(next))).toEqual([{ agentId: "a", changed: false }]);
    tidy?.();
    const left = (await bytes()).toString("latin1");
    expect(keyBytes.filter((key) => left.includes(key))).toEqual([]);
    expect(await outcomeOf(encrypted(stored, { keys: testKeys("second") }), "a")).toEqual(["kept"]);
  });
});

function whosePruningsFail(log: RecordLog): RecordLog {
  const crash = () => Promise.reject(new Error("crash"));
  return withMethod(log, "open", async (...given: Parameters<RecordLog["open"]>) =>
    withMethod(await log.open(...given), "prune", crash),
  );
}

/** Returns the stored forms of all data keys, the one of `b` last. */
async function keysOf({ log }: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const found: string[] = [];
  for (const agentId of ["a", "inbox:a", "b"])
    for (const { records } of await collect(log.read(`data_key:${agentId}`)))
      found.push(wrapped.exec(JSON.stringify(records))?.[1] ?? "");
  return found.filter((key) => key !== "");
}

/** The storage, with a log that does `then` after a deletion, and before the deletion is acknowledged. */
function whoseDeletionsWait(log: RecordLog, then: () => Promise<void>): RecordLog {
  const open = async (...given: Parameters<RecordLog["open"]>) => {
    const owned = await log.open(...given);
    return withMethod(owned, "drop", async () => {
      await owned.drop();
      if (given[0] === "a") await then();
    });
  };
  return withMethod(log, "open", open);
}

function withMethod<Target extends object>(target: Target, name: keyof Target, method: unknown): Target {
  const get = (_: Target, asked: string | symbol): unknown => {
    const value: unknown = asked === name ? method : Reflect.get(target, asked, target);
    return typeof value === "function" ? (value as () => unknown).bind(target) : value;
  };
  return new Proxy(target, { get });
}

describe.each(Object.entries(openBooks))("the deletion of an agent %s", (_name, open) => {
  const made = async (log: RecordLog, value: string): Promise<string> => {
    const owned = await log.open("a", processOwner());
    const reference = await log.blobs.put("a", owned.generation, new TextEncoder().encode(value));
    await owned.append({ id: `x-${value}`, records: [record(value)] }, owned.position);
    await owned.release();
    return reference;
  };

  it("keeps the key of an agent that another process makes with the same id meanwhile", async () => {
    const { storage: stored } = await open();
    const other = encryptedLog(stored.log);
    let reference = "";
    const deleting = encryptedLog(
      whoseDeletionsWait(stored.log, async () => {
        reference = await made(other, "new");
      }),
    );
    await made(deleting, "old");
    expect(await outcomeOf({ log: other }, "a")).toEqual(["old"]);
    const before = await other.keys.storedId("a");
    await (await deleting.open("a", processOwner())).drop();
    for (const log of [other, deleting, encryptedLog(stored.log)]) {
      expect(await outcomeOf({ log }, "a")).toEqual(["new"]);
      expect(new TextDecoder().decode(await log.blobs.get("a", reference))).toBe("new");
    }
    expect(await other.keys.storedId("a")).not.toBe(before);
  });

  it("keeps the key of a copy that another process makes with the same id meanwhile", async () => {
    const { storage: stored } = await open();
    const other = encryptedLog(stored.log);
    await store({ log: other }, "source", "copied");
    const deleting = encryptedLog(
      whoseDeletionsWait(stored.log, async () => {
        const received = { appends: await collect(other.encodedAppends("source")), generation: 1 };
        const summary = summaryOf("a");
        await (
          await other.receive?.("a", processOwner(), received, () => ({ id: "end", records: [], summary }))
        )?.release();
      }),
    );
    await made(deleting, "old");
    await (await deleting.open("a", processOwner())).drop();
    expect(await outcomeOf({ log: encryptedLog(stored.log) }, "a")).toEqual(["copied", undefined]);
  });

  it("keeps the key of an agent that did not exist when it was opened for its deletion", async () => {
    const { storage: stored } = await open();
    const absent = await encryptedLog(stored.log).open("a", { ...processOwner(), mustExist: true });
    if (absent.generation > 0) return;
    await made(encryptedLog(stored.log), "new");
    await absent.drop();
    expect(await outcomeOf({ log: encryptedLog(stored.log) }, "a")).toEqual(["new"]);
  });
});

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
    await expect(storage().log.open("a", processOwner())).rejects.toMatchObject({ code: "storage_failed" });
    expect(await stored.log.owner("a")).toBeUndefined();
    fails = false;
    await store(storage(), "a", "two");
    expect(await outcomeOf(storage(), "a")).toEqual(["one", "two"]);
  });

  it.each([
    ["is denied", () => Promise.reject(new Error("denied")), "storage_failed"],
    ["returns no key", async () => undefined, "authentication_failed"],
    ["returns another key", async () => new Uint8Array(32), "authentication_failed"],
  ])("keeps the earlier form of a data key if unwrap() of the new key %s", async (_name, unwrap, code) => {
    const stored = new InMemoryPersistenceStorageProvider();
    await store(encrypted(stored, { keys: testKeys("first") }), "a", "one");
    const service = { wrap: async (bytes: Uint8Array) => bytes.slice(), unwrap };
    const first = testKeys("first");
    const get: typeof first.get = (keyId) => (keyId === "kms" ? service : first.get(keyId));
    const [result] = await collect(reencrypt(encrypted(stored, { keys: { current: "kms", get } })));
    expect([result?.changed, result?.error?.code]).toEqual([false, code]);
    expect(await outcomeOf(encrypted(stored, { keys: first }), "a")).toEqual(["one"]);
  });

  it("refuses a wrapped key without hiding the other agents", async () => {
    const refused = new Set<string>();
    const service = {
      wrap: async (bytes: Uint8Array) => bytes.slice(),
      unwrap: async (bytes: Uint8Array, context: string) => (refused.has(context) ? undefined : bytes),
    };
    const stored = new InMemoryPersistenceStorageProvider();
    const storage = () => encrypted(stored, { keys: { current: "kms", get: () => service } });
    for (const agentId of ["a", "b"]) {
      const owned = await storage().log.open(agentId, processOwner());
      await owned.append({ id: "x", records: [record(agentId)], summary: summaryOf(agentId) }, 0);
      await owned.release();
    }
    refused.add(JSON.stringify(["agent-persistence data key", "a", await encryptedLog(stored.log).keys.storedId("a")]));
    expect(await outcomeOf(storage(), "a")).toBe("authentication_failed");
    const listed = await collect(storage().log.list());
    expect(listed.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["a", "unreadable"],
      ["b", "queued"],
    ]);
  });
});

it("changes no file of an agent whose import it refuses", async () => {
  const directory = await testDirectory();
  const storage = encrypted(new FilePersistenceStorageProvider({ directory }), { keys: testKeys("first") });
  await store(storage, "a", "of a");
  const before = (await bytesUnder(directory)).toString("latin1");
  const last = () => Promise.reject(new Error("never called"));
  await expect(storage.log.receive?.("a", processOwner(), { generation: 1, appends: [] }, last)).rejects.toMatchObject({
    code: "agent_exists",
  });
  expect((await bytesUnder(directory)).toString("latin1")).toBe(before);
});

it("creates no files when it destroys the key of an unknown agent", async () => {
  const directory = await testDirectory();
  const storage = encrypted(new FilePersistenceStorageProvider({ directory }), { keys: testKeys("first") });
  await store(storage, "a", "of a");
  const before = await readdir(join(directory, "tasks"));
  await destroyKey(storage, "unknown");
  await destroyKey(storage, "a");
  expect(await readdir(join(directory, "tasks"))).toEqual(before);
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

it("uses a key that another process has just stored, while that process still owns its log", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  await store({ log: encryptedLog(log) }, "a", "one");
  let [reads, opens] = [0, 0];
  const busy = delegatingLog(log, {
    read: async function* (...given) {
      if (given[0] !== "data_key:a" || ++reads > 1) yield* log.read(...given);
    },
    open: (...given) => {
      if (given[0] !== "data_key:a") return log.open(...given);
      if (++opens > 1) throw new Error("opened again");
      throw new AgentBusyError("data_key:a", { ...processOwner(), generation: 1 }, 1_000);
    },
  });
  const { keys } = encryptedLog(busy);
  expect((await keys.writing("a", async () => false)).id).toBe(await encryptedLog(log).keys.storedId("a"));
});

it("finds no key in the methods of an object literal", async () => {
  const table: Record<string, Uint8Array> = { first: new Uint8Array(32) };
  const source = { current: "first", get: (id: string) => table[id] };
  for (const keyId of ["constructor", "__proto__", "toString"])
    await expect(unwrapKey(source, { keyId, wrapped: "" }, { agentId: "a", context: "" })).rejects.toMatchObject({
      code: "key_missing",
    });
});

it("reports a key that its source returns as null as missing", async () => {
  const source = { current: "first", get: () => null as never };
  const unwrapped = unwrapKey(source, { keyId: "first", wrapped: "" }, { agentId: "a", context: "" });
  await expect(unwrapped).rejects.toMatchObject({ code: "key_missing" });
});
