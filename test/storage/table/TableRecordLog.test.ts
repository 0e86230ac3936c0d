import { hostname } from "node:os";
import {
  LogPersistenceStorageProvider,
  type BlobStore,
  type LogAppend,
  type LogTable,
  type ProcessIdentity,
  TableRecordLog,
  type LogOwner,
  type OwnedLog,
  processOwner,
} from "agent-persistence/storage";
import { persistence } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { platformSha256 } from "../../../src/internal/sha256/platformSha256.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { oneNode } from "../../task/worker/oneNode.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import type { ChainLink } from "../../../src/checkpoint/format/EntryChain.ts";
import { encodeRow } from "../../../src/storage/table/TableOwnedLog.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { collect } from "../file/support/fixture.ts";
import { connectionLost, MemoryTable } from "./MemoryTable.ts";

const me: LogOwner = { host: "here", processId: 1, nonce: "me" };
const other: LogOwner = { host: "here", processId: 2, nonce: "other" };

function made(options: { readonly retryMs?: number; readonly processIdentity?: ProcessIdentity } = {}) {
  const table = new MemoryTable();
  const clock = new SimulatedClock();
  const log = new TableRecordLog(table, { clock, processIdentity: anyProcess, ...options });
  return { table, clock, log };
}

async function positions(log: TableRecordLog): Promise<number[]> {
  return (await collect(log.read("a"))).map(({ position }) => position);
}

async function filled(log: TableRecordLog, count: number): Promise<OwnedLog> {
  const owned = await log.open("a", me);
  for (let n = 1; n <= count; n++) await appendText(owned, String(n));
  return owned;
}

/** Lets time pass until a call has ended. */
async function settle<Result>(clock: SimulatedClock, call: Promise<Result>): Promise<PromiseSettledResult<Result>> {
  let ended = false;
  const outcome = Promise.allSettled([call]).finally(() => (ended = true));
  while (!ended) {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    if (!ended) clock.advance(100);
  }
  return (await outcome)[0];
}

describe("an append with an unknown outcome", () => {
  it("is retried until the database responds", async () => {
    const { table, clock, log } = made({ retryMs: 10_000 });
    const owned = await filled(log, 1);
    let failures = 5;
    table.onCall = (method) => {
      if (method === "append" && failures-- > 0) throw connectionLost();
    };
    expect(await settle(clock, appendText(owned, "2"))).toEqual({ status: "fulfilled", value: 2 });
    expect(await positions(log)).toEqual([1, 2]);
  });

  it("is stored once if only responses are lost, even after another owner's takeover", async () => {
    const { table, clock, log } = made();
    const owned = await filled(log, 1);
    table.losesAnswer = true;
    table.onCall = (method) => {
      if (method === "append") table.agent("a").generation += Number(table.agent("a").rows.length === 2);
    };
    expect(await settle(clock, appendText(owned, "2"))).toEqual({ status: "fulfilled", value: 2 });
    expect(await positions(log)).toEqual([1, 2]);
    expect(await settle(clock, appendText(owned, "3"))).toMatchObject({
      reason: { code: "ownership_lost" },
    });
  });

  it("fails after `retryMs` with the driver's error as its cause, like every later append", async () => {
    const { table, clock, log } = made({ retryMs: 4_000 });
    const owned = await filled(log, 1);
    const from = clock.monotonic();
    table.onCall = () => {
      throw connectionLost();
    };
    const failed = await settle(clock, appendText(owned, "2"));
    expect(failed).toMatchObject({
      reason: { code: "storage_failed", reason: "unavailable", cause: { code: "ECONNRESET" } },
    });
    expect(clock.monotonic() - from).toBeGreaterThanOrEqual(4_000);
    expect(clock.monotonic() - from).toBeLessThan(10_000);
    table.onCall = () => {};
    await expect(appendText(owned, "3")).rejects.toMatchObject({ code: "storage_failed" });
    // This process knows that the owner has ended.
    expect((await log.open("a", other)).position).toBe(1);
  });

  it("is reported as lost to an owner that was replaced meanwhile", async () => {
    const { table, clock, log } = made();
    const owned = await filled(log, 1);
    table.onCall = (method) => {
      if (method !== "append") return;
      table.agent("a").generation = 7;
      table.onCall = () => {};
      throw connectionLost();
    };
    expect(await settle(clock, appendText(owned, "2"))).toMatchObject({
      reason: { code: "ownership_lost", successor: 7 },
    });
    expect(owned.lost.aborted).toBe(true);
    expect(await positions(log)).toEqual([1]);
  });
});

describe("a blob request without a response", () => {
  const bytes = new Uint8Array([1]);

  it.each([
    ["put", (blobs: BlobStore) => blobs.put("a", 1, bytes)],
    ["get", (blobs: BlobStore, reference: string) => blobs.get("a", reference)],
    ["copy", (blobs: BlobStore, reference: string) => blobs.copy?.("a", reference, "b")],
    ["delete", (blobs: BlobStore, reference: string) => blobs.delete("a", reference)],
  ])("is retried for `retryMs`: %s", async (method, act) => {
    const { table, clock, log } = made({ retryMs: 10_000 });
    const reference = await log.blobs.put("a", 1, bytes);
    let failures = 5;
    table.onCall = (called) => {
      if (called === method && failures-- > 0) throw connectionLost();
    };
    table.losesAnswer = true;
    expect(await settle(clock, Promise.resolve(act(log.blobs, reference)))).toMatchObject({ status: "fulfilled" });
    expect(failures).toBeLessThan(0);
    failures = Infinity;
    expect(await settle(clock, Promise.resolve(act(log.blobs, reference)))).toMatchObject({
      reason: { code: "storage_failed", reason: "unavailable", cause: { code: "ECONNRESET" } },
    });
  });

  it("takes effect although the response to a put or delete is lost", async () => {
    const { table, clock, log } = made();
    table.losesAnswer = true;
    const put = await settle(clock, log.blobs.put("a", 1, bytes));
    const reference = put.status === "fulfilled" ? put.value : "";
    expect(await log.blobs.get("a", reference)).toEqual(bytes);
    table.losesAnswer = true;
    expect(await settle(clock, log.blobs.delete("a", reference))).toMatchObject({ status: "fulfilled" });
    expect(await log.blobs.get("a", reference)).toBeUndefined();
  });
});

describe("a paged read", () => {
  it.each([1, 2, 3, 4, 5, 6])("returns the log before or after a pruning at its call %i", async (at) => {
    const { table, log } = made();
    const owned = await filled(log, 30);
    const before = await collect(log.read("a"));
    let calls = 0;
    table.onCall = async (method) => {
      if (!["rows", "pruned"].includes(method) || ++calls !== at) return;
      table.onCall = () => {};
      await owned.append({ id: "p", records: [prunedRecord(before, 5, 26)] }, 30);
      await owned.prune();
    };
    const seen = (await collect(log.read("a"))).map(({ position }) => position);
    const all = before.map(({ position }) => position);
    const kept = [...all.filter((position) => position < 5 || position > 26), 31];
    expect([all, kept]).toContainEqual(seen);
    expect(await positions(log)).toEqual(kept);
  });

  it("starts before the newest snapshot after a crash interrupts a removal", async () => {
    const { table, log } = made();
    const owned = await log.open("a", me);
    for (let n = 1; n <= 6; n++) await appendText(owned, String(n), { snapshot: n === 4 });
    await owned.append({ id: "p", records: [prunedRecord(await collect(log.read("a")), 4, 5)] }, 6);
    table.agent("a").rows = table.agent("a").rows.filter(({ position }) => position !== 5);
    const seen = (await collect(log.read("a", { sinceSnapshot: true }))).map(({ position }) => position);
    expect(seen).toEqual([1, 2, 3, 6, 7]);
  });

  it("returns more appends than a call can have arguments before a range that is being removed", async () => {
    const { table, log } = made();
    const [count, sha256] = [130_000, await platformSha256()];
    const agent = Object.assign(table.agent("a"), { generation: 1 });
    let end: ChainLink = { position: 0, checksum: "" };
    const add = (records: LogAppend["records"]) => {
      const encoded = encodeRow("a", { id: `1-${end.position + 1}`, records }, 1, end, sha256);
      agent.rows.push(encoded.row);
      end = encoded.end;
      return encoded.end.checksum;
    };
    let before = "";
    for (let n = 0; n < count; n++) before = add([{ kind: "example" }]);
    add([{ kind: "example" }]);
    const after = add([{ kind: "example" }]);
    const [first, last] = [count + 1, count + 2];
    const pruned = { kind: "pruned", gaps: [{ first, last, before, after }] };
    add([pruned]);
    agent.rows.splice(count, 1);
    table.pageSize = count;
    expect(await positions(log)).toHaveLength(count + 1);
  });

  it("restarts when the agent is dropped meanwhile", async () => {
    const { table, log } = made();
    const owned = await filled(log, 20);
    let calls = 0;
    table.onCall = (method) => {
      if (method !== "rows" || ++calls !== 2) return;
      Object.assign(table.agent("a"), { start: 20, rows: [] });
    };
    expect(await positions(log)).toEqual([]);
    await owned.release();
  });
});

describe("an owner whose process has ended", () => {
  const identity = (running: boolean, start = "17"): ProcessIdentity => ({
    ...anyProcess,
    bootId: "b",
    pidNamespace: "n",
    processStart: start,
    isRunning: () => running,
  });
  const owner = (boot = "b", start = "17") => ({ ...me, incarnation: `boot ${boot}, namespace n, start ${start}` });

  it("is replaced immediately on the same machine", async () => {
    const { log } = made({ processIdentity: identity(false) });
    const first = await log.open("a", owner());
    expect(await log.owner("a")).toMatchObject({ state: "gone", incarnation: owner().incarnation });
    expect((await log.open("a", other)).generation).toBe(2);
    await expect(appendText(first, "late")).rejects.toMatchObject({ code: "ownership_lost" });
  });

  it.each([
    ["still runs", identity(true), owner()],
    ["belongs to another boot", identity(false), owner("another")],
    ["has an unknown start, with many machines", identity(false, ""), owner("b", "")],
  ])("keeps the agent while it %s", async (_, processIdentity, first) => {
    const { clock, log } = made({ processIdentity });
    await log.open("a", first);
    await expect(log.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 15_000 });
    clock.advance(0);
  });

  it("gets its process identity from the log by default", async () => {
    const log = new TableRecordLog(new MemoryTable());
    await log.open("a", processOwner());
    expect(await log.owner("a")).toMatchObject({
      host: hostname(),
      processId: process.pid,
      state: "alive",
      incarnation: expect.stringMatching(/^boot .+, namespace .*, start \d*$/) as string,
    });
    await log.close();
  });
});

it("the silence of an owner is measured on the shared clock of a boot, even by a first observer", async () => {
  let sinceBootMs = 1_000_000;
  const shared = { ...anyProcess, sinceBootMs: () => sinceBootMs };
  const { table, log } = made({ processIdentity: shared });
  await log.open("a", { ...me, incarnation: "boot boot, namespace , start " });
  const next = () => new TableRecordLog(table, { clock: new SimulatedClock(), processIdentity: shared });
  sinceBootMs += 14_999;
  await expect(next().open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 1 });
  sinceBootMs += 1;
  expect((await next().open("a", other)).generation).toBe(2);
});

describe("an unreadable owner entry", () => {
  it.each(["garbage", "null", "{}", '{"leaseMs":"x"}', '{"host":"h","processId":1,"nonce":"n","session":"s"}'])(
    "with the text %s is replaced after a silent lease and affects only its agent",
    async (text) => {
      const { table, clock, log } = made();
      for (const agentId of ["a", "b"]) {
        const owned = await log.open(agentId, me);
        await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId }) });
        if (agentId === "b") await owned.release();
      }
      table.agent("a").owner = text;
      // Its own process has ended: nothing renews.
      const next = new TableRecordLog(table, { clock, processIdentity: anyProcess });
      table.onCall = (method) => {
        if (method === "renew") throw connectionLost();
      };
      const free = async () => (await collect(next.list({ free: true }))).map(({ agentId }) => agentId);
      expect(await free()).toEqual(["b"]);
      expect(await next.owner("a")).toMatchObject({ host: "unknown", generation: 1, state: "alive" });
      await expect(next.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 15_000 });
      clock.advance(15_000);
      expect(await free()).toEqual(["a", "b"]);
      expect((await next.open("a", other)).position).toBe(1);
    },
  );

  it("keeps the agent while its heartbeat is renewed", async () => {
    const { table, clock, log } = made();
    await log.open("a", me);
    table.agent("a").owner = "garbage";
    const next = new TableRecordLog(table, { clock, processIdentity: anyProcess });
    for (let second = 0; second < 60; second++) {
      await expect(next.open("a", other)).rejects.toMatchObject({ code: "agent_busy" });
      clock.advance(1_000);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    }
  });
});

it("a lease lasts at most a day, whatever the owner states", async () => {
  const { table, clock, log } = made();
  await new TableRecordLog(table, { clock, leaseMs: Infinity, processIdentity: anyProcess }).open("b", me);
  expect(JSON.parse(table.agent("b").owner ?? "")).toMatchObject({ leaseMs: 86_400_000 });
  const owner = { host: "h", processId: 1, nonce: "n", session: "s", leaseMs: 1e300 };
  Object.assign(table.agent("a"), { generation: 1, beat: "0", owner: JSON.stringify(owner) });
  await expect(log.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 86_400_000 });
  clock.advance(86_400_000);
  expect((await log.open("a", other)).generation).toBe(2);
});

it("a silent owner is replaced after a lease even if the clock of the database was set back", async () => {
  const { table, clock, log } = made();
  const owner = { host: "h", processId: 1, nonce: "n", session: "s", leaseMs: 15_000 };
  Object.assign(table.agent("a"), { generation: 1, beat: "0", owner: JSON.stringify(owner) });
  const head = table.head.bind(table);
  table.head = async (agentId) => ({ ...((await head(agentId)) ?? { generation: 0, beat: "" }), idleMs: 0 });
  await expect(log.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 15_000 });
  clock.advance(14_999);
  await expect(log.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 1 });
  clock.advance(1);
  expect((await log.open("a", other)).generation).toBe(2);
});

it("closing a log ends each of its subscriptions once", async () => {
  const { table, log } = made();
  let [open, closings] = [0, 0];
  (table as LogTable).watch = async () => {
    open++;
    const close = async () => {
      open--;
      closings++;
    };
    return { close };
  };
  const first = await log.watch(() => {});
  await log.watch(() => {});
  await first.close();
  expect(open).toBe(1);
  const late = log.watch(() => {});
  await log.close();
  await expect(late).rejects.toMatchObject({ code: "storage_closed" });
  await first.close();
  expect([open, closings]).toEqual([0, 3]);
});

it("a refused copy changes neither the log nor an existing agent", async () => {
  const { table, log } = made();
  await (await filled(log, 150)).release();
  const lines = await collect(log.encodedAppends("a"));
  const last = () => ({ id: "last", records: [], summary: exampleSummary("b", "copied") });
  const reference = await log.blobs.put("a", 1, new Uint8Array([1]));
  const some = (async function* () {
    yield* lines.slice(0, 120);
    await log.blobs.copy?.("a", reference, "b");
    throw new RangeError("cut");
  })();
  await expect(log.receive?.("b", me, { appends: some, generation: 1 }, last)).rejects.toThrow("cut");
  expect(table.agent("b")).toMatchObject({ rows: [], staged: [], blobs: new Map(), owner: undefined });
  await expect(log.receive?.("a", me, { appends: lines, generation: 1 }, last)).rejects.toMatchObject({
    code: "agent_exists",
  });
  expect(await positions(log)).toHaveLength(150);
  expect(await log.blobs.get("a", reference)).toEqual(new Uint8Array([1]));
  expect((await log.receive?.("b", me, { appends: lines, generation: 1 }, last))?.position).toBe(151);
});

it("a received log passes at most about 4 MB to the table at once", async () => {
  const { table, log } = made();
  const owned = await log.open("a", me);
  for (let n = 0; n < 12; n++) await appendText(owned, "x".repeat(1_000_000));
  const sizes: number[] = [];
  const stage = table.stage.bind(table);
  table.stage = (agentId, generation, appends, first) => {
    sizes.push(appends.reduce((sum, { encoded }) => sum + encoded.length, 0));
    return stage(agentId, generation, appends, first);
  };
  const last = () => ({ id: "last", records: [], summary: exampleSummary("b", "copied") });
  const received = await log.receive?.("b", me, { appends: log.encodedAppends("a"), generation: 1 }, last);
  expect(received?.position).toBe(13);
  expect(Math.max(...sizes)).toBeLessThan(5_200_000);
  expect(sizes.filter((size) => size > 0)).toHaveLength(3);
});

describe("a log with a damaged last append", () => {
  const damaged = async () => {
    const { table, log } = made();
    await (await filled(log, 3)).release();
    table.agent("a").rows[2]?.encoded.fill(65, 20, 21);
    return { table, log };
  };

  it("refuses appends and copies", async () => {
    const { log } = await damaged();
    const owned = await log.open("a", me);
    expect(owned.damage).toMatchObject({ code: "corrupt_log", agentId: "a" });
    await expect(owned.append({ id: "x", records: [] }, 3)).rejects.toBe(owned.damage);
    await owned.release();
    const last = () => ({ id: "last", records: [] });
    const received = log.receive?.("a", me, { appends: [], generation: 1 }, last);
    await expect(received).rejects.toMatchObject({ code: "corrupt_log" });
    expect(await log.owner("a")).toBeUndefined();
    await expect(positions(log)).rejects.toMatchObject({ code: "corrupt_log" });
  });

  it("is refused by a journal and can be deleted", async () => {
    const { log } = await damaged();
    const storage = new LogPersistenceStorageProvider(log);
    const feature = persistence(
      durableAgent(
        oneNode((input) => input),
        storage,
      ),
    );
    await expect(feature.agent("a").fork("b")).rejects.toMatchObject({ code: "corrupt_log" });
    await feature.deleteAgent("a");
    expect(await positions(log)).toEqual([]);
    expect((await log.open("a", me)).position).toBe(3);
  });
});

it("only an agent with a changed summary is listed as unreadable", async () => {
  const { table, log } = made();
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, me);
    await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: `order of ${agentId}` }) });
  }
  const agent = table.agent("a");
  agent.summary = agent.summary && { ...agent.summary, text: agent.summary.text.replace("import", "export") };
  const listed = async (status?: string) =>
    (await collect(log.list(status === undefined ? {} : { status }))).map((one) => [one.agentId, one.status]);
  expect(await listed()).toEqual([
    ["a", "unreadable"],
    ["b", "queued"],
  ]);
  expect(await listed("unreadable")).toEqual([["a", "unreadable"]]);
  expect(await listed("queued")).toEqual([["b", "queued"]]);
  const [first] = await collect(log.list({ limit: 1 }));
  const [second] = await collect(log.list({ limit: 1, after: first?.order ?? "" }));
  expect(second?.agentId).toBe("b");
});

it.each([
  ["cut JSON", "{"],
  ["no fields", "{}"],
  ["null", "null"],
  ["a list", "[1]"],
  ["a status that is not a text", '{"status":1,"requestIds":[],"position":1,"createdAt":"","updatedAt":""}'],
])("an agent whose stored summary is %s with a valid checksum is listed as unreadable", async (_, json) => {
  const { table, log } = made();
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, me);
    await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: `order of ${agentId}` }) });
  }
  const agent = table.agent("a");
  const sha256 = await platformSha256();
  const listed = async () => (await collect(log.list())).map((one) => [one.agentId, one.status]);
  const both = [
    ["a", "unreadable"],
    ["b", "queued"],
  ];
  for (const covered of [JSON.stringify(["a", "order of a"]) + json, json]) {
    agent.summary = agent.summary && { ...agent.summary, text: `${sha256.base64url(covered)}${json}` };
    expect(await listed()).toEqual(both);
  }
});

it("a list reads the summaries of earlier versions, which contain the id and the order", async () => {
  const { table, log } = made();
  const summary = exampleSummary("a", "queued", { order: "order of a" });
  await appendText(await log.open("a", me), "1", { summary });
  const [now] = await collect(log.list());
  expect(now).toMatchObject({ ...summary, position: 1 });
  const json = JSON.stringify(now);
  const agent = table.agent("a");
  agent.summary = agent.summary && { ...agent.summary, text: `${(await platformSha256()).base64url(json)}${json}` };
  expect(await collect(log.list())).toEqual([now]);
  agent.summary = agent.summary && { ...agent.summary, text: agent.summary.text.replace("order of a", "order of b") };
  expect(await collect(log.list())).toMatchObject([{ agentId: "a", status: "unreadable" }]);
});

it("a driver that responds immediately does not block the event loop", async () => {
  const { log } = made();
  const owned = await log.open("a", me);
  let turns = 0;
  let appending = true;
  const count = async () => {
    for (; appending; turns++) await nextTurn();
  };
  const counting = count();
  for (let n = 0; n < 200; n++) await appendText(owned, String(n));
  appending = false;
  await counting;
  expect(turns).toBeGreaterThanOrEqual(200);
});

it("an invalid table or option is refused", () => {
  expect(() => new TableRecordLog({} as MemoryTable)).toThrow(/table of a log/);
  expect(() => new TableRecordLog(new MemoryTable(), { leaseMs: 0 })).toThrow(/leaseMs/);
});
