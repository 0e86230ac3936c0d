import { describe, expect, it } from "vitest";
import { AgentBusyError, PositionConflictError, StorageClosedError } from "../../../src/errors/storageErrors.ts";
import { CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { InvalidAgentIdError } from "../../../src/errors/agentErrors.ts";
import { StopRequestedError } from "../../../src/errors/runErrors.ts";
import type { Sha256 } from "../../../src/internal/sha256/Sha256.ts";
import { portableSha256 } from "../../../src/internal/sha256/portableSha256.ts";
import { MemoryRecordLog } from "../../../src/storage/memory/MemoryRecordLog.ts";
import type { AgentSummary } from "../../../src/storage/RecordLog.ts";

const owner = (nonce: string) => ({ host: "here", processId: 1, nonce });
const record = (text: string) => ({ kind: "message", text });
const summary = (agentId: string, status: string, order: string): AgentSummary => ({
  agentId,
  status,
  order,
  requestIds: [],
  position: 0,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  data: {},
});

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("a log in memory", () => {
  it("is unaffected by later changes to the appended objects", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    const records = [record("one")];
    expect(await owned.append({ id: "1-1", records }, 0)).toBe(1);
    (records[0] as { text: string }).text = "changed";
    await owned.append({ id: "mine", records: [record("two")] }, 1);
    const entries = await collect(log.read("a"));
    expect(entries.map((entry) => entry.records)).toEqual([[record("one")], [record("two")]]);
    expect(entries.map(({ position, generation, id, prev }) => ({ position, generation, id, prev }))).toEqual([
      { position: 1, generation: 1, id: "1-1", prev: "" },
      { position: 2, generation: 1, id: "mine", prev: entries[0]?.checksum },
    ]);
  });

  it("has one owner at a time and increasing generations", async () => {
    const log = new MemoryRecordLog();
    const first = await log.open("a", owner("1"));
    await expect(log.open("a", owner("2"))).rejects.toMatchObject({
      code: "agent_busy",
      owner: { nonce: "1", generation: 1 },
    });
    await expect(log.open("a", owner("2"))).rejects.toBeInstanceOf(AgentBusyError);
    expect(await log.owner("a")).toEqual({ ...owner("1"), generation: 1, state: "alive" });
    await first.release();
    await first.release();
    expect(await log.owner("a")).toBeUndefined();
    const second = await log.open("a", owner("2"));
    expect(second.generation).toBe(2);
    await expect(first.append({ id: "1-1", records: [] }, 0)).rejects.toBeInstanceOf(StorageClosedError);
  });

  it("acknowledges a repeated id at the same position and refuses any other", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    await owned.append({ id: "x", records: [] }, 0);
    await owned.append({ id: "y", records: [] }, 1);
    expect(await owned.append({ id: "x", records: [] }, 0)).toBe(1);
    expect(await owned.append({ id: "y", records: [] }, 1)).toBe(2);
    await expect(owned.append({ id: "z", records: [] }, 1)).rejects.toBeInstanceOf(PositionConflictError);
    await expect(owned.append({ id: "z", records: [] }, 5)).rejects.toMatchObject({ expected: 5, found: 2 });
    expect(await collect(log.read("a"))).toHaveLength(2);
  });

  it("lists the newest summary after an earlier append is repeated", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    const first = { id: "x", records: [], summary: summary("a", "running", "1") };
    await owned.append(first, 0);
    await owned.append({ id: "y", records: [], summary: summary("a", "finished", "2") }, 1);
    await owned.append(first, 0);
    expect(await collect(log.list({ status: "finished" }))).toMatchObject([{ agentId: "a", status: "finished" }]);
    expect(await collect(log.list({ status: "running" }))).toEqual([]);
  });

  it("reads a range, or from the newest snapshot", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    for (let n = 0; n < 20; n++) await owned.append({ id: `1-${n}`, records: [], snapshot: n === 5 || n === 11 }, n);
    const positions = async (options: object) => (await collect(log.read("a", options))).map((entry) => entry.position);
    expect(await positions({ after: 3, upTo: 5 })).toEqual([4, 5]);
    expect(await positions({ sinceSnapshot: true, upTo: 13 })).toEqual([12, 13]);
    expect(await positions({ sinceSnapshot: true, upTo: 7 })).toEqual([6, 7]);
    expect(await positions({ sinceSnapshot: true, after: 18 })).toEqual([19, 20]);
    expect(await positions({ after: 20 })).toEqual([]);
  });

  it("removes only entries that a pruned record names and reads across the gap", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    for (let n = 0; n < 6; n++) await owned.append({ id: `1-${n}`, records: [] }, n);
    const entries = await collect(log.read("a"));
    const gap = { first: 2, last: 4, before: entries[0]?.checksum, after: entries[3]?.checksum };
    await owned.prune();
    expect(await collect(log.read("a"))).toHaveLength(6);
    await owned.append({ id: "1-6", records: [{ kind: "pruned", gaps: [gap] } as never] }, 6);
    const kept = [1, 5, 6, 7];
    expect((await collect(log.read("a"))).map((entry) => entry.position)).toEqual(kept);
    await owned.prune();
    expect((await collect(log.read("a"))).map((entry) => entry.position)).toEqual(kept);
  });

  it("forgets a dropped agent but keeps its position and generation", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    await owned.append({ id: "1-1", records: [], summary: summary("a", "queued", "1") }, 0);
    const reference = await log.blobs.put("a", 1, new Uint8Array([1]));
    await owned.drop();
    expect(await collect(log.read("a"))).toEqual([]);
    expect(await collect(log.list())).toEqual([]);
    expect(await log.blobs.get("a", reference)).toBeUndefined();
    const again = await log.open("a", owner("2"));
    expect([again.position, again.generation]).toEqual([1, 2]);
    expect(await again.append({ id: "2-1", records: [] }, 1)).toBe(2);
    expect(await collect(log.read("a"))).toMatchObject([{ position: 2, prev: "" }]);
  });

  it("lists by order, then by id, and by status", async () => {
    const log = new MemoryRecordLog();
    for (const [agentId, status, order] of [
      ["b", "queued", "1"],
      ["a", "queued", "1"],
      ["c", "failed", "0"],
    ] as const) {
      await (
        await log.open(agentId, owner("1"))
      ).append({ id: "1-1", records: [], summary: summary(agentId, status, order) }, 0);
    }
    const ids = async (options: object) => (await collect(log.list(options))).map((item) => item.agentId);
    expect(await ids({})).toEqual(["c", "a", "b"]);
    expect(await ids({ status: "queued" })).toEqual(["a", "b"]);
    expect(await ids({ after: "0", limit: 1 })).toEqual(["a"]);
    expect((await collect(log.list()))[0]?.position).toBe(1);
  });

  it("notifies the owner of a stop request without revoking ownership", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    await log.requestStop("a", "cancelled");
    expect(owned.lost.reason).toBeInstanceOf(StopRequestedError);
    expect(await owned.append({ id: "1-1", records: [] }, 0)).toBe(1);
  });

  it("refuses calls after close and invalid agent ids", async () => {
    const log = new MemoryRecordLog();
    await expect(log.open("", owner("1"))).rejects.toBeInstanceOf(InvalidAgentIdError);
    await expect(log.open("\ud800", owner("1"))).rejects.toBeInstanceOf(InvalidAgentIdError);
    await expect(collect(log.read("x".repeat(1025)))).rejects.toBeInstanceOf(InvalidAgentIdError);
    const owned = await log.open("a", owner("1"));
    await log.close();
    await expect(owned.append({ id: "1-1", records: [] }, 0)).rejects.toBeInstanceOf(StorageClosedError);
    await expect(log.open("a", owner("1"))).rejects.toBeInstanceOf(StorageClosedError);
  });

  it("refuses values that cannot be stored and stays usable", async () => {
    const log = new MemoryRecordLog();
    const owned = await log.open("a", owner("1"));
    const cyclic: { kind: string; self?: unknown } = { kind: "x" };
    cyclic.self = cyclic;
    await expect(owned.append({ id: "1-1", records: [cyclic] }, 0)).rejects.toBeInstanceOf(TypeError);
    await expect(owned.append({ id: "1-1", records: [{ kind: "x", n: 1n } as never] }, 0)).rejects.toBeInstanceOf(
      TypeError,
    );
    expect(await owned.append({ id: "1-1", records: [] }, 0)).toBe(1);
  });

  it("verifies the entries that it reads", async () => {
    let lie = false;
    const real = portableSha256;
    const sha256: Sha256 = { ...real, base64url: (data) => (lie ? "x".repeat(43) : real.base64url(data)) };
    const log = new MemoryRecordLog({ sha256 });
    await (await log.open("a", owner("1"))).append({ id: "1-1", records: [] }, 0);
    lie = true;
    await expect(collect(log.read("a"))).rejects.toBeInstanceOf(CorruptLogError);
  });
});
