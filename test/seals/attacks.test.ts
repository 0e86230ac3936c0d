import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/checkpoint/records/Entry.ts";
import { type KeptSeal, sealed, verifySeals } from "../../src/seals.ts";
import { SealBrokenError } from "../../src/errors/sealErrors.ts";
import { LogPersistenceStorageProvider } from "../../src/storage/LogPersistenceStorageProvider.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import type { LogAppend, RecordLog } from "../../src/storage/RecordLog.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { wholeSoak } from "../soak/cases.ts";
import { exportAgent } from "../../src/transfer/exportAgent.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { finish, payer, waitingPayer } from "../transfer/movedAgents.ts";
import { engines } from "../storage/engines/engines.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { MemoryKeeper, newKey, sealedLog, testKey } from "./sealedHarness.ts";

type Stored = Pick<LogAppend, "id" | "records">;
type Attack = (entries: readonly Stored[], other: readonly Stored[]) => readonly Stored[];
type Outcome = readonly (readonly [kind: string, position: number])[];

const text = (value: string) => ({ kind: "example", value });

/** Writes two agents with ten appends each. Every third append is sealed, so appends 1, 4, 7 and 10 have a seal. */
async function writeAgents(inner: RecordLog, options: Parameters<typeof sealedLog>[1] = {}): Promise<void> {
  const log = sealedLog(inner, options);
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, processOwner());
    for (let n = 1; n <= 10; n++) await owned.append({ id: `1-${n}`, records: [text(`${agentId} ${n}`)] }, n - 1);
    await owned.release();
  }
}

/** Stores appends as someone without the key would: with correct positions, chains and checksums. */
async function write(inner: RecordLog, entries: readonly Stored[]): Promise<void> {
  const owned = await inner.open("a", processOwner());
  for (const [at, { id, records }] of entries.entries()) await owned.append({ id, records }, at);
  await owned.release();
}

const storageOf = (log: RecordLog) => new LogPersistenceStorageProvider(log);

async function changesOf(inner: RecordLog, options: Parameters<typeof verifySeals>[1] = {}): Promise<Outcome> {
  const { verify } = testKey;
  const [found] = await collect(verifySeals(storageOf(inner), { verify, agentIds: ["a"], ...options }));
  return (found?.changes ?? []).map(({ kind, position }) => [kind, position] as const);
}

async function readOutcome(inner: RecordLog): Promise<unknown> {
  try {
    return (await collect(sealedLog(inner).read("a"))).length;
  } catch (error) {
    if (!(error instanceof SealBrokenError)) throw error;
    return [error.kind, error.position];
  }
}

const edited = ({ id, records }: Stored): Stored => ({
  id,
  records: [...records.slice(0, -1), { ...records.at(-1), value: "forged" } as Entry["records"][number]],
});
const unsealed = ({ id, records }: Stored): Stored => {
  const { seal: _seal, ...record } = records.at(-1) as Entry["records"][number] & { readonly seal?: unknown };
  return { id, records: [...records.slice(0, -1), record] };
};
const forged = (n: number): Stored => ({ id: `1-${n}`, records: [text("forged")] });
const at =
  (position: number, change: (entry: Stored) => Stored): Attack =>
  (entries) =>
    entries.map((entry, index) => (index === position - 1 ? change(entry) : entry));
const hiding = (entries: readonly Entry[], first: number, last: number) => ({
  kind: "pruned",
  gaps: [{ first, last, before: entries[first - 2]?.checksum ?? "", after: entries[last - 1]?.checksum ?? "" }],
});

const lines = (log: RecordLog) => log.encodedAppends?.("a") ?? none("encodedAppends");
const none = (name: string): never => {
  throw new Error(`there is no ${name}`);
};
const one = (entries: readonly Stored[], position: number): Stored => entries[position - 1] ?? none("such append");

/** An attack on the appends of agent `a`, and the changes that `verifySeals` names. A read fails with the first one. */
const attacks: Readonly<Record<string, readonly [attack: Attack, outcome: Outcome]>> = {
  "no change": [(entries) => entries, []],
  "an edited append": [at(5, edited), [["edited", 5]]],
  "an edited append that contains a seal": [at(7, edited), [["edited", 7]]],
  "the first append edited": [at(1, edited), [["edited", 1]]],
  "the last sealed append edited": [at(10, edited), [["edited", 10]]],
  "three edited appends": [
    (entries, other) => at(9, edited)(at(5, edited)(at(2, edited)(entries, other), other), other),
    [
      ["edited", 2],
      ["edited", 5],
      ["edited", 9],
    ],
  ],
  "another id of an append": [at(5, ({ records }) => ({ id: "1-50", records })), [["edited", 5]]],
  "an append of another agent": [(entries, other) => at(5, () => one(other, 5))(entries, other), [["edited", 5]]],
  "all appends of another agent": [(_entries, other) => other, [["unsealed", 10]]],
  "a removed append": [(entries) => entries.filter((_, index) => index !== 4), [["removed", 5]]],
  "a removed append that contains a seal": [(entries) => entries.filter((_, index) => index !== 3), [["removed", 4]]],
  "the first append removed": [(entries) => entries.slice(1), [["removed", 1]]],
  "the start of the log removed": [
    (entries) => entries.slice(3),
    [
      ["removed", 1],
      ["removed", 2],
      ["removed", 3],
    ],
  ],
  "an inserted append": [(entries) => [...entries.slice(0, 4), forged(99), ...entries.slice(4)], [["inserted", 5]]],
  "two appends in another order": [
    (entries) => [...entries.slice(0, 4), one(entries, 6), one(entries, 5), ...entries.slice(6)],
    [
      ["reordered", 5],
      ["reordered", 6],
    ],
  ],
  "an old append again at the end": [(entries) => [...entries, one(entries, 5)], [["inserted", 11]]],
  "an old sealed append again at the end": [(entries) => [...entries, one(entries, 7)], [["inserted", 11]]],
  "a removed seal": [at(7, unsealed), [["unsealed", 7]]],
  "the last seal removed": [
    at(10, unsealed),
    // Three appends follow the seal of append 7, so one of them must have a seal.
    [["unsealed", 10]],
  ],
  "all seals removed": [(entries) => entries.map(unsealed), [["unsealed", 1]]],
  "an edited append and all seals removed": [
    (entries, other) => at(5, edited)(entries.map(unsealed), other),
    [["unsealed", 1]],
  ],
  "more appends at the end than a seal covers": [
    (entries) => [...entries, forged(11), forged(12), forged(13)],
    [["unsealed", 13]],
  ],
};

/** A whole soak has databases of other processes, too. */
const tested = engines.filter(({ name }) => wholeSoak || (name !== "in Postgres" && name !== "in DynamoDB"));

describe.each(tested)("a sealed log $name", ({ harness }) => {
  it("names every change of its appends", async () => {
    const { log: written } = await harness();
    await writeAgents(written);
    const [entries, other] = [await collect(written.read("a")), await collect(written.read("b"))];
    const found: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [name, [attack, outcome]] of Object.entries(attacks)) {
      const { log: inner } = await harness();
      await write(inner, attack(entries, other));
      found[name] = [await changesOf(inner), await readOutcome(inner)];
      expected[name] = [outcome, outcome[0] ?? 10];
      await inner.close();
    }
    expect(found).toEqual(expected);
  });
});

describe.each(tested)("an agent on a sealed log $name", ({ harness }) => {
  it("continues from its start if any append is marked as a snapshot", async () => {
    const { log: written } = await harness();
    const paid: string[] = [];
    await waitingPayer(storageOf(sealedLog(written, { every: 1 })), "a", paid);
    const entries = await collect(written.read("a"));
    const last = entries.length;
    expect(last).toBeGreaterThan(2);
    for (const marked of [2, last]) {
      const { log: inner } = await harness();
      const owned = await inner.open("a", processOwner());
      for (const [at, { id, records }] of entries.entries())
        await owned.append({ id, records, ...(at + 1 === marked && { snapshot: true }) }, at);
      await owned.release();
      const again: string[] = [];
      const attackedPayer = payer(storageOf(sealedLog(inner, { every: 1 })), again);
      expect(await attackedPayer.feature.agent("a").getRequests()).toHaveLength(1);
      expect(await finish(attackedPayer, "a")).toMatchObject({ status: "completed" });
      expect([paid, again]).toEqual([["ann"], ["ann"]]);
    }
  });
});

it("an inbox of a sealed storage is read from its start if an append is marked as a snapshot", async () => {
  const [written, inner] = [new MemoryRecordLog(), new MemoryRecordLog()];
  const inboxOf = (log: RecordLog) => payer(storageOf(sealedLog(log, { every: 1 }))).feature.agent("a");
  for (const key of ["1", "2", "3"]) await inboxOf(written).send("paid", key, { key });
  const entries = await collect(written.read("inbox:a"));
  for (const [at, { id, records }] of entries.entries()) {
    const owned = await inner.open("inbox:a", processOwner());
    await owned.append({ id, records, ...(at + 1 === entries.length && { snapshot: true }) }, at);
    await owned.release();
  }
  await inboxOf(inner).send("paid", "1", { key: "1" });
  expect(await collect(inner.read("inbox:a"))).toHaveLength(entries.length);
});

describe("a sealed log", () => {
  async function attacked(attack: Attack): Promise<MemoryRecordLog> {
    const inner = new MemoryRecordLog();
    await writeAgents(inner);
    const after = new MemoryRecordLog();
    await write(after, attack(await collect(inner.read("a")), await collect(inner.read("b"))));
    return after;
  }

  it("rejects the appends of a log with the seals of another key", async () => {
    const inner = new MemoryRecordLog();
    await writeAgents(inner, { key: newKey() });
    expect(await changesOf(inner)).toEqual([["unsealed", 10]]);
  });

  it("finds an append of another owner that was stored under the same id", async () => {
    const inner = new MemoryRecordLog();
    await writeAgents(inner);
    const entries = await collect(inner.read("a"));
    const after = new MemoryRecordLog();
    await write(after, entries.slice(0, 4));
    const owned = await after.open("a", processOwner());
    for (const [index, { id, records }] of entries.slice(4).entries()) await owned.append({ id, records }, index + 4);
    await owned.release();
    expect((await changesOf(after))[0]).toEqual(["edited", 5]);
  });

  it("finds appends that a forged pruning hides", async () => {
    const inner = new MemoryRecordLog();
    await writeAgents(inner);
    const entries = await collect(inner.read("a"));
    const last = one(entries, 10);
    const owned = await inner.open("a", processOwner());
    await owned.append({ id: "2-11", records: [hiding(entries, 5, 6) as Entry["records"][number]] }, 10);
    await owned.prune();
    await owned.release();
    expect(last.records).toHaveLength(1);
    expect(await changesOf(inner)).toEqual([
      ["removed", 5],
      ["removed", 6],
    ]);
  });

  it("rejects appends, and can be dropped", async () => {
    const inner = await attacked(at(5, edited));
    const owned = await sealedLog(inner).open("a", processOwner());
    // The newest seal covers the last appends only. The read of the whole log, which a run needs, finds the change.
    await expect(collect(sealedLog(inner).read("a"))).rejects.toMatchObject({ code: "seal_broken", position: 5 });
    await owned.drop();
    expect(await collect(sealedLog(inner).read("a"))).toEqual([]);
  });

  it("finds a change in a read of a part of the log", async () => {
    const log = sealedLog(await attacked(at(9, edited)));
    await expect(collect(log.read("a", { after: 8 }))).rejects.toMatchObject({ kind: "edited", position: 9 });
    await expect(collect(log.read("a", { upTo: 9 }))).rejects.toMatchObject({ kind: "edited", position: 9 });
    await expect(collect(lines(log))).rejects.toMatchObject({ kind: "edited", position: 9 });
    expect(await collect(log.read("a", { upTo: 7 }))).toHaveLength(7);
  });

  it("rejects a read of a part of the log whose seals were removed", async () => {
    const log = sealedLog(await attacked((entries, other) => at(9, edited)(entries.map(unsealed), other)));
    for (const part of [{ after: 8 }, { upTo: 9 }, { after: 5, upTo: 9 }])
      await expect(collect(log.read("a", part))).rejects.toMatchObject({ code: "seal_broken", kind: "unsealed" });
    const newer = sealedLog(
      await attacked((entries) => at(10, unsealed)(at(7, unsealed)(at(9, edited)(entries, []), []), [])),
    );
    await expect(collect(newer.read("a", { after: 8 }))).rejects.toMatchObject({ kind: "unsealed", position: 7 });
  });

  it("seals each snapshot, so that a read from the newest one starts at a seal", async () => {
    const inner = new MemoryRecordLog();
    const owned = await sealedLog(inner, { every: 100 }).open("a", processOwner());
    await owned.append({ id: "1-1", records: [text("first")] }, 0);
    await owned.append({ id: "1-2", records: [text("second")] }, 1);
    await owned.append({ id: "1-3", records: [text("state")], snapshot: true }, 2);
    await owned.append({ id: "1-4", records: [text("after")] }, 3);
    await owned.release();
    const [snapshot] = await collect(inner.read("a", { sinceSnapshot: true }));
    expect(snapshot).toMatchObject({ position: 3, records: [{ seal: { covers: [[2, 3]] } }] });
    expect(await collect(sealedLog(inner, { every: 100 }).read("a", { sinceSnapshot: true }))).toHaveLength(2);
  });

  it("rejects a log that was never sealed", async () => {
    const inner = new MemoryRecordLog();
    await write(inner, [forged(1), forged(2)]);
    const owned = await sealedLog(inner).open("a", processOwner());
    const append = owned.append({ id: "2-3", records: [] }, 2);
    await expect(append).rejects.toMatchObject({ code: "seal_broken", kind: "unsealed", position: 1 });
    expect(await collect(inner.read("a"))).toHaveLength(2);
  });

  it("does not show appends after the last seal to be unchanged, and counts them", async () => {
    const inner = await attacked((entries) => [...entries, forged(11), forged(12)]);
    const { verify } = testKey;
    const [found] = await collect(verifySeals(storageOf(inner), { verify, agentIds: ["a"] }));
    expect(found).toEqual({ agentId: "a", position: 12, unsealed: 2, changes: [] });
  });

  it("is not broken if only the ends of runs are sealed", async () => {
    const inner = new MemoryRecordLog();
    const { sign, verify } = testKey;
    const { log } = sealed(storageOf(inner), { sign, verify, every: Infinity });
    const owned = await log.open("a", processOwner());
    await owned.append({ id: "1-1", records: [text("first")] }, 0);
    await owned.append({ id: "1-2", records: [text("second")] }, 1);
    await owned.release();
    expect(await collect(log.read("a"))).toHaveLength(2);
  });

  it("finds every appended record if every append is sealed", async () => {
    const inner = new MemoryRecordLog();
    await writeAgents(inner, { every: 1 });
    const entries = await collect(inner.read("a"));
    const after = new MemoryRecordLog();
    await write(after, [...entries, forged(11)]);
    expect(await changesOf(after)).toEqual([["unsealed", 11]]);
  });
});

describe("the blobs and summaries of a sealed log", () => {
  /** An agent with a large value that waits for an answer. */
  async function waiting() {
    const inner = new MemoryRecordLog();
    const storage = new LogPersistenceStorageProvider(sealedLog(inner), { inlineThresholdBytes: 300 });
    await waitingPayer(storage, "a");
    const entries = JSON.stringify(await collect(inner.read("a")));
    const [blob = none("blob")] = entries.match(/blob:\/\/[0-9a-f]{64}-\d+(?:\.gz)?/) ?? [];
    return { inner, storage, blob };
  }

  it("rejects a changed byte of a blob", async () => {
    const { inner, storage, blob } = await waiting();
    const changed = ((await inner.blobs.get("a", blob)) ?? none("blob")).map((byte, at) =>
      at === 9 ? byte ^ 1 : byte,
    );
    await inner.blobs.delete("a", blob);
    await inner.blobs.putNamed("a", blob, changed);
    await expect(storage.log.blobs.get("a", blob)).rejects.toMatchObject({ code: "corrupt_blob" });
  });

  it("names a removed blob", async () => {
    const { inner, storage, blob } = await waiting();
    await inner.blobs.delete("a", blob);
    await expect(collect(exportAgent(storage, "a"))).rejects.toMatchObject({ code: "unreadable_value" });
  });

  it("does not find a changed summary, but opens the agent in its true state", async () => {
    const { inner } = await waiting();
    const log = delegatingLog(inner, {
      list: async function* (options) {
        for await (const summary of inner.list(options)) yield { ...summary, status: "completed" };
      },
    });
    const attackedStorage = new LogPersistenceStorageProvider(sealedLog(log));
    expect(await collect(attackedStorage.log.list())).toMatchObject([{ agentId: "a", status: "completed" }]);
    expect(await changesOf(log)).toEqual([]);
    expect(await payer(attackedStorage).feature.agent("a").getRequests()).toHaveLength(1);
    expect(await finish(payer(attackedStorage), "a")).toMatchObject({ status: "completed" });
  });
});

describe("a sealed log whose newest seals are kept elsewhere", () => {
  async function kept() {
    const keepAt = new MemoryKeeper();
    const inner = new MemoryRecordLog();
    await writeAgents(inner, { keepAt });
    return { keepAt, inner, entries: await collect(inner.read("a")) };
  }

  it("matches", async () => {
    const { inner, keepAt } = await kept();
    expect(keepAt.seals.get("a")).toMatchObject({ agentId: "a", position: 10, generation: 1 });
    expect(await changesOf(inner, { keepAt })).toEqual([]);
  });

  it("names the first append of a missing end", async () => {
    const { entries, keepAt } = await kept();
    const inner = new MemoryRecordLog();
    await write(inner, entries.slice(0, 8));
    expect(await changesOf(inner)).toEqual([]);
    expect(await changesOf(inner, { keepAt })).toEqual([["truncated", 9]]);
    const owned = await sealedLog(inner, { keepAt }).open("a", processOwner());
    expect(owned.damage).toMatchObject({ code: "seal_broken", kind: "truncated", position: 9 });
    const append = owned.append({ id: "2-9", records: [] }, 8);
    await expect(append).rejects.toMatchObject({ code: "seal_broken" });
  });

  it("names an end that was replaced by other appends", async () => {
    const { entries, keepAt } = await kept();
    const inner = new MemoryRecordLog();
    await write(inner, entries.slice(0, 8));
    // A process that does not know the kept seals continues the older copy.
    const log = sealedLog(inner);
    const owned = await log.open("a", processOwner());
    for (let n = 9; n <= 12; n++) await owned.append({ id: `2-${n}`, records: [text("other")] }, n - 1);
    await owned.release();
    expect(await changesOf(inner)).toEqual([]);
    expect(await changesOf(inner, { keepAt })).toEqual([["truncated", 10]]);
    const again = await sealedLog(inner, { keepAt }).open("a", processOwner());
    expect(again.damage).toMatchObject({ kind: "truncated", position: 10 });
  });

  it("names a removed agent", async () => {
    const { keepAt } = await kept();
    const found = await collect(verifySeals(storageOf(new MemoryRecordLog()), { verify: testKey.verify, keepAt }));
    expect(found).toEqual(
      ["a", "b"].map((agentId) => ({
        agentId,
        position: 0,
        unsealed: 0,
        changes: [{ kind: "truncated", position: 1 }],
      })),
    );
  });

  it("names a deleted agent that was restored", async () => {
    const { inner, entries, keepAt } = await kept();
    await (await sealedLog(inner, { keepAt }).open("a", processOwner())).drop();
    expect(await changesOf(inner, { keepAt })).toEqual([]);
    const after = new MemoryRecordLog();
    await write(after, entries);
    expect(await changesOf(after)).toEqual([]);
    expect(await changesOf(after, { keepAt })).toEqual([["inserted", 10]]);
    const owned = await sealedLog(after, { keepAt }).open("a", processOwner());
    expect(owned.damage).toMatchObject({ kind: "inserted", position: 10 });
  });

  it("continues with an id that is used again after a deletion", async () => {
    const { inner, keepAt } = await kept();
    const log = sealedLog(inner, { keepAt });
    await (await log.open("a", processOwner())).drop();
    const owned = await log.open("a", processOwner());
    await owned.append({ id: "x", records: [text("new")] }, owned.position);
    await owned.release();
    expect(await changesOf(inner, { keepAt })).toEqual([]);
    expect(keepAt.seals.get("a")).toMatchObject({ position: 11 });
  });

  it.each([
    ["JSON", JSON.stringify, "", "object"],
    ["a position as text", (seal: KeptSeal) => ({ ...seal, position: String(seal.position) }), "position", "number"],
  ])("refuses a kept seal that is %s, and names the expected form", async (_name, stored, path, expected) => {
    const { inner, keepAt } = await kept();
    const broken = {
      read: async (agentId: string) => stored((await keepAt.read(agentId)) ?? none("seal")) as never,
      write: async () => {},
    };
    const refused = {
      code: "invalid_input",
      subject: "result of keepAt.read()",
      problems: [{ path, expected: expect.stringContaining(expected) as string }],
    };
    await expect(sealedLog(inner, { keepAt: broken }).open("a", processOwner())).rejects.toMatchObject(refused);
    await expect(changesOf(inner, { keepAt: broken })).rejects.toMatchObject(refused);
  });

  it("rejects calls while the place cannot be reached", async () => {
    const { inner } = await kept();
    const fail = async () => {
      throw new Error("offline");
    };
    const keepAt = { read: fail, write: fail };
    const failed = { code: "storage_failed", reason: "unavailable" };
    await expect(sealedLog(inner, { keepAt }).open("a", processOwner())).rejects.toMatchObject(failed);
    const log = sealedLog(inner, { keepAt: { read: async () => undefined, write: fail } });
    const owned = await log.open("a", processOwner());
    await owned.append({ id: "2-11", records: [] }, 10);
    await owned.append({ id: "2-12", records: [] }, 11);
    await expect(owned.append({ id: "2-13", records: [] }, 12)).rejects.toMatchObject(failed);
    await expect(owned.append({ id: "2-14", records: [] }, 13)).rejects.toMatchObject(failed);
  });
});
