import { describe, expect, it } from "vitest";
import { collect } from "../storage/file/support/fixture.ts";
import { encodeEntry, type EncodableEntry } from "../../src/checkpoint/format/entryCodec.ts";
import type { Entry } from "../../src/checkpoint/records/Entry.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { AgentSummary, ListOptions, ReadOptions, RecordLog } from "../../src/storage/RecordLog.ts";
import { LogPersistenceStorageProvider } from "../../src/storage/LogPersistenceStorageProvider.ts";
import { exportAgent } from "../../src/transfer/exportAgent.ts";
import { waitingPayer } from "../transfer/movedAgents.ts";
import { blobNameOf } from "../../src/encryption/log/sealedRecords.ts";
import { encryptedLog, keyOf, testKeys } from "./encryptedHarness.ts";

/** Removes all blobs of agent `a` whose names are in its stored appends. */
async function removeBlobs(inner: MemoryRecordLog): Promise<void> {
  const names = new Set(JSON.stringify(await entriesOf(inner, "a")).match(/blob:\/\/[0-9a-f]{64}-\d+(?:\.gz)?/g));
  expect(names.size).toBeGreaterThan(0);
  for (const name of names) await inner.blobs.delete("a", name);
}

const text = (value: string) => ({ kind: "example", value });
const entriesOf = (log: RecordLog, agentId: string) => collect(log.read(agentId));
const summaryOf = (agentId: string): AgentSummary => ({
  agentId,
  status: "queued",
  order: agentId,
  requestIds: [],
  position: 0,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  data: { secret: agentId },
});

/** Two agents with four appends each, under one key. */
async function stored(): Promise<MemoryRecordLog> {
  const inner = new MemoryRecordLog();
  const log = encryptedLog(inner);
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, processOwner());
    for (const n of [1, 2, 3, 4])
      await owned.append({ id: `1-${n}`, records: [text(`${agentId} ${n}`)], summary: summaryOf(agentId) }, n - 1);
    await owned.release();
  }
  return inner;
}

type Change = (entries: readonly Entry[], other: readonly Entry[]) => readonly EncodableEntry[];

/** A storage that returns what someone without a key made of agent `a`, with correct checksums. */
async function attacked(inner: MemoryRecordLog, change: Change): Promise<RecordLog> {
  const changed = chained(change(await entriesOf(inner, "a"), await entriesOf(inner, "b")));
  async function* read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    const { after = 0, upTo = Infinity } = options;
    if (agentId !== "a") return yield* inner.read(agentId, options);
    for (const entry of changed) if (entry.position > after && entry.position <= upTo) yield entry;
  }
  const { version, capabilities, blobs } = inner;
  return { ...others(inner), version, capabilities, blobs, read };
}

function others(inner: MemoryRecordLog): Omit<RecordLog, "version" | "capabilities" | "blobs" | "read"> {
  return {
    open: (...given) => inner.open(...given),
    list: (options) => inner.list(options),
    owner: (agentId) => inner.owner(agentId),
    requestStop: (...given) => inner.requestStop(...given),
    close: () => inner.close(),
  };
}

/** Computes the checksums again. */
function chained(entries: readonly EncodableEntry[]): readonly Entry[] {
  let prev = "";
  return entries.map((entry) => {
    const { checksum } = encodeEntry({ ...entry, prev }, nodeSha256);
    const made = { ...entry, prev, checksum };
    prev = checksum;
    return made;
  });
}

async function copy(log: MemoryRecordLog, from: string, to: string): Promise<void> {
  const [last] = (await entriesOf(log, from)).slice(-1);
  const received = { appends: await collect(log.encodedAppends(from)), generation: last?.generation ?? 1 };
  const { records = [] } = last ?? {};
  await (await log.receive(to, processOwner(), received, () => ({ id: "copied", records }))).release();
}

async function outcomeOf(inner: RecordLog, agentId = "a", keys = testKeys("first")): Promise<unknown> {
  try {
    const entries = await entriesOf(encryptedLog(inner, keys), agentId);
    return entries.map(({ records }) => (records[0] as { readonly value?: unknown } | undefined)?.value);
  } catch (error) {
    const { code, position } = error as { readonly code?: unknown; readonly position?: unknown };
    if (code === undefined) throw error;
    return [code, position];
  }
}

const moved = (entry: Entry | undefined, place: Entry | undefined): EncodableEntry =>
  ({ ...place, records: entry?.records }) as EncodableEntry;

/** An attack on the appends of agent `a`, and what a read of the agent then returns. */
const attacks: Readonly<Record<string, readonly [change: Change, outcome: unknown]>> = {
  "no change": [(entries) => entries, ["a 1", "a 2", "a 3", "a 4"]],
  "a changed byte": [
    (entries) => entries.map((entry) => (entry.position === 2 ? { ...entry, records: flipped(entry.records) } : entry)),
    ["authentication_failed", 2],
  ],
  "an append of another agent": [
    (entries, other) => entries.map((entry, at) => (at === 2 ? moved(other[at], entry) : entry)),
    ["authentication_failed", 3],
  ],
  "all appends of another agent": [(_entries, other) => other, ["authentication_failed", 1]],
  "two appends in another order": [
    ([one, two, three, four]) => [moved(one, one), moved(three, two), moved(two, three), moved(four, four)],
    ["authentication_failed", 2],
  ],
  "an old append again at the end": [
    (entries) => [...entries, { ...moved(entries[1], entries[3]), position: 5, id: "1-5" }],
    ["authentication_failed", 5],
  ],
  "a missing append, with new positions": [
    ([one, , three, four]) => [
      moved(one, one),
      { ...moved(three, three), position: 2 },
      { ...moved(four, four), position: 3 },
    ],
    ["authentication_failed", 2],
  ],
  "a plain append at the end": [
    (entries) => [...entries, { ...moved(entries[3], entries[3]), position: 5, id: "1-5", records: [text("forged")] }],
    ["authentication_failed", 5],
  ],
  "an append under another id": [
    (entries) => entries.map((entry) => (entry.position === 4 ? { ...entry, id: "1-5" } : entry)),
    ["authentication_failed", 4],
  ],
  "a hidden append": [([one, , three, four]) => [one, three, four] as Entry[], ["authentication_failed", 3]],
  "a record that hides appends, in an existing append": [
    (entries) =>
      entries.map((entry) => (entry.position === 4 ? { ...entry, records: hiding(entry.records, entries) } : entry)),
    ["authentication_failed", 4],
  ],
  // Nothing in the storage shows that later appends existed. `verify --since` compares with checkpoints kept outside.
  "a cut end": [(entries) => entries.slice(0, 3), ["a 1", "a 2", "a 3"]],
};

function flipped(records: Entry["records"]): Entry["records"] {
  const [record] = records as readonly { readonly kind: string; readonly data: string }[];
  const { data = "" } = record ?? {};
  const other = data[40] === "A" ? "B" : "A";
  return [{ ...record, data: data.slice(0, 40) + other + data.slice(41) } as Entry["records"][number]];
}

function hiding(records: Entry["records"], entries: readonly Entry[]): Entry["records"] {
  const [one, two] = entries;
  const gap = { first: 2, last: 2, before: one?.checksum ?? "", after: two?.checksum ?? "" };
  return [...records, { kind: "pruned", gaps: [gap] } as Entry["records"][number]];
}

describe("the appends of an encrypted log", () => {
  it.each(Object.entries(attacks))("%s", async (_name, [change, outcome]) => {
    expect(await outcomeOf(await attacked(await stored(), change))).toEqual(outcome);
  });

  it("cannot be hidden from a read that ends before the forged record", async () => {
    const inner = await attacked(await stored(), (entries) => [
      ...entries.filter(({ position }) => position !== 2),
      { ...moved(entries[3], entries[3]), position: 5, id: "1-5", records: hiding([], entries) },
    ]);
    const read = collect(encryptedLog(inner).read("a", { upTo: 3 }));
    await expect(read).rejects.toMatchObject({ code: "authentication_failed", position: 5 });
  });

  it("cannot be copied to another id of the same storage", async () => {
    const inner = await stored();
    await copy(inner, "a", "c");
    expect(await outcomeOf(inner, "c")).toEqual(["key_missing", undefined]);
    await copy(inner, "data_key:a", "data_key:c");
    expect(await outcomeOf(inner, "c")).toEqual(["authentication_failed", undefined]);
  });
});

/** A storage that returns earlier appends of some logs, like an older copy. */
async function restored(
  inner: MemoryRecordLog,
  ...ids: readonly string[]
): Promise<(current: MemoryRecordLog) => RecordLog> {
  const saved = new Map<string, readonly Entry[]>();
  for (const id of ids) saved.set(id, await entriesOf(inner, id));
  return (current) => {
    async function* read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
      const { after = 0, upTo = Infinity } = options;
      const entries = saved.get(agentId);
      if (!entries) return yield* current.read(agentId, options);
      for (const entry of entries) if (entry.position > after && entry.position <= upTo) yield entry;
    }
    const { version, capabilities, blobs } = current;
    return { ...others(current), version, capabilities, blobs, read };
  };
}

describe("an older copy of an encrypted storage", () => {
  it("is not found if its keys are restored, too", async () => {
    const inner = await stored();
    const older = await restored(inner, "a", "data_key:a");
    const owned = await encryptedLog(inner).open("a", processOwner());
    await owned.append({ id: "x", records: [text("a 5")] }, 4);
    await owned.release();
    expect(await outcomeOf(inner)).toEqual(["a 1", "a 2", "a 3", "a 4", "a 5"]);
    expect(await outcomeOf(older(inner))).toEqual(["a 1", "a 2", "a 3", "a 4"]);
  });

  it("brings a deleted agent back only with its key", async () => {
    const inner = await stored();
    const [withKey, withoutKey] = [await restored(inner, "a", "data_key:a"), await restored(inner, "a")];
    await (await encryptedLog(inner).open("a", processOwner())).drop();
    expect(await outcomeOf(inner)).toEqual([]);
    expect(await outcomeOf(withoutKey(inner))).toEqual(["key_missing", undefined]);
    expect(await outcomeOf(withKey(inner))).toEqual(["a 1", "a 2", "a 3", "a 4"]);
  });
});

describe("the keys of an encrypted log", () => {
  it("reports a key that the source does not have, and not damage", async () => {
    expect(await outcomeOf(await stored(), "a", testKeys("second"))).toEqual(["key_missing", undefined]);
  });

  it("reports another key under the same id", async () => {
    const keys = { current: "first", get: () => keyOf("another") };
    expect(await outcomeOf(await stored(), "a", keys)).toEqual(["authentication_failed", undefined]);
  });

  it("reads data of an earlier key, and encrypts its data key with the current key when the agent is opened", async () => {
    const inner = await stored();
    expect(await outcomeOf(inner, "a", testKeys("second", "first"))).toEqual(["a 1", "a 2", "a 3", "a 4"]);
    await (await encryptedLog(inner, testKeys("second", "first")).open("a", processOwner())).release();
    expect(await outcomeOf(inner, "a", testKeys("second"))).toEqual(["a 1", "a 2", "a 3", "a 4"]);
    expect(await outcomeOf(inner, "a", testKeys("first"))).toEqual(["key_missing", undefined]);
    expect(await outcomeOf(inner, "b", testKeys("first"))).toEqual(["b 1", "b 2", "b 3", "b 4"]);
  });

  it("does not create a second key for an agent whose key is missing", async () => {
    const inner = await stored();
    await (await inner.open("data_key:a", processOwner())).drop();
    const log = encryptedLog(inner);
    const owned = await log.open("a", processOwner());
    await expect(owned.append({ id: "x", records: [] }, 4)).rejects.toMatchObject({ code: "key_missing" });
    await expect(log.blobs.put("a", 2, new Uint8Array(3))).rejects.toMatchObject({ code: "key_missing" });
    await owned.drop();
    expect(await outcomeOf(inner)).toEqual([]);
  });

  it("lists an agent whose key is missing as unreadable, with the reason", async () => {
    const inner = await stored();
    await (await inner.open("data_key:a", processOwner())).drop();
    const listed = await collect(encryptedLog(inner).list());
    expect(listed.map(({ agentId, status, data }) => [agentId, status, data])).toEqual([
      ["a", "unreadable", expect.objectContaining({ code: "key_missing" })],
      ["b", "queued", { secret: "b" }],
    ]);
    const unreadable = await collect(encryptedLog(inner).list({ status: "unreadable" }));
    expect(unreadable.map(({ agentId }) => agentId)).toEqual(["a"]);
  });

  it("refuses the id of a data key as the id of an agent", async () => {
    const log = encryptedLog(await stored());
    await expect(log.open("data_key:a", processOwner())).rejects.toMatchObject({ code: "invalid_agent_id" });
    await expect(collect(log.read("data_key:a"))).rejects.toMatchObject({ code: "invalid_agent_id" });
  });
});

describe("the summaries of an encrypted log", () => {
  it("lists an agent with the summary of another agent as unreadable", async () => {
    const inner = await stored();
    const [, other] = await collect(inner.list());
    const owned = await inner.open("a", processOwner());
    await owned.append({ id: "x", records: [], summary: { ...(other as AgentSummary), agentId: "a" } }, 4);
    const [listed] = await collect(encryptedLog(inner).list());
    expect(listed).toMatchObject({ agentId: "a", status: "unreadable", data: { code: "authentication_failed" } });
  });

  it.each([
    ["encrypted", "a changed byte"],
    ["key", "another key"],
  ])("lists an agent as unreadable whose summary was changed at %s", async (field) => {
    const inner = await stored();
    const [first] = await collect(inner.list());
    const summary = first as AgentSummary & { readonly data: Readonly<Record<string, string>> };
    const value = summary.data[field] ?? "";
    const changed = { ...summary.data, [field]: (value.startsWith("A") ? "B" : "A") + value.slice(1) };
    const owned = await inner.open("a", processOwner());
    await owned.append({ id: "x", records: [], summary: { ...summary, position: 4, data: changed } }, 4);
    const [listed] = await collect(encryptedLog(inner).list());
    expect(listed).toMatchObject({ agentId: "a", status: "unreadable", data: { code: "authentication_failed" } });
  });

  it("ends a list of an agent whose stored status and sort key were changed", async () => {
    const inner = await stored();
    let lists = 0;
    async function* list({ after = "" }: ListOptions = {}): AsyncGenerator<AgentSummary> {
      if (++lists > 9) throw new Error("the list does not end");
      const [first] = await collect(inner.list());
      if (first && after < "z") yield { ...first, status: "running", order: "z" };
    }
    const { version, capabilities, blobs } = inner;
    const read = inner.read.bind(inner);
    const log = encryptedLog({ ...others(inner), version, capabilities, blobs, read, list });
    expect(await collect(log.list({ status: "running", limit: 1 }))).toEqual([]);
  });
});

describe("the blobs of an encrypted log", () => {
  async function withBlobs() {
    const inner = await stored();
    const log = encryptedLog(inner);
    const [one, two] = [
      await log.blobs.put("a", 1, new TextEncoder().encode("the first")),
      await log.blobs.put("a", 1, new TextEncoder().encode("the second")),
    ];
    const key = await log.keys.find("a");
    if (!key) throw new Error("agent a has no key");
    return { inner, log, one, two, names: [await blobNameOf(key, one), await blobNameOf(key, two)] as const };
  }

  it("have names that do not show the hash of their content", async () => {
    const { inner, one, names } = await withBlobs();
    expect(await inner.blobs.getNamed("a", one)).toBeUndefined();
    expect(await inner.blobs.getNamed("a", names[0])).toBeDefined();
  });

  it("cannot be swapped", async () => {
    const { inner, log, one, two, names } = await withBlobs();
    const bytes = await inner.blobs.getNamed("a", names[0]);
    await inner.blobs.putNamed("a", names[1], bytes ?? new Uint8Array());
    await expect(log.blobs.get("a", two)).rejects.toMatchObject({ code: "corrupt_blob" });
    expect(new TextDecoder().decode(await log.blobs.get("a", one))).toBe("the first");
  });

  it("are rejected after a changed byte", async () => {
    const { inner, log, one, names } = await withBlobs();
    const bytes = (await inner.blobs.getNamed("a", names[0])) ?? new Uint8Array();
    for (const at of [0, 5, bytes.length - 1]) {
      await inner.blobs.putNamed(
        "a",
        names[0],
        bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)),
      );
      await expect(log.blobs.get("a", one)).rejects.toMatchObject({ code: "corrupt_blob" });
    }
  });

  it("of an agent are named as unreadable once they were removed", async () => {
    const inner = new MemoryRecordLog();
    const storage = new LogPersistenceStorageProvider(encryptedLog(inner), { inlineThresholdBytes: 300 });
    await waitingPayer(storage, "a");
    await removeBlobs(inner);
    await expect(collect(exportAgent(storage, "a", { keys: false }))).rejects.toMatchObject({
      code: "unreadable_value",
    });
  });

  it("are missing if they were dropped", async () => {
    const { inner, log, one, names } = await withBlobs();
    await inner.blobs.delete("a", names[0]);
    expect(await log.blobs.get("a", one)).toBeUndefined();
  });

  it("cannot be replaced by plain bytes", async () => {
    const { inner, log, one, names } = await withBlobs();
    await inner.blobs.putNamed("a", names[0], new TextEncoder().encode("the first"));
    await expect(log.blobs.get("a", one)).rejects.toMatchObject({ code: "corrupt_blob" });
  });
});
