import { hostname } from "node:os";
import {
  type ProcessIdentity,
  TableRecordLog,
  type LogOwner,
  type OwnedLog,
  processOwner,
} from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { anyProcess } from "../../testing/log/anyProcess.ts";
import { appendText, exampleSummary } from "../../../src/testing/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/log/removalTests.ts";
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

describe("an append whose outcome is unknown", () => {
  it("is asked for again until the database answers", async () => {
    const { table, clock, log } = made({ retryMs: 10_000 });
    const owned = await filled(log, 1);
    let failures = 5;
    table.onCall = (method) => {
      if (method === "append" && failures-- > 0) throw connectionLost();
    };
    expect(await settle(clock, appendText(owned, "2"))).toEqual({ status: "fulfilled", value: 2 });
    expect(await positions(log)).toEqual([1, 2]);
  });

  it("is stored once when only its answers were lost, also where another owner has come since", async () => {
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

  it("fails after `retryMs`, with the driver's error as its cause, and so does every later one", async () => {
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

  it("is told as lost to an owner that was replaced meanwhile", async () => {
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

describe("a read in pages", () => {
  it.each([1, 2, 3, 4, 5, 6])("sees the log as before or as after, when it is pruned at its call %i", async (at) => {
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

  it("begins before the newest snapshot when a removal that a crash cut short has left it", async () => {
    const { table, log } = made();
    const owned = await log.open("a", me);
    for (let n = 1; n <= 6; n++) await appendText(owned, String(n), { snapshot: n === 4 });
    await owned.append({ id: "p", records: [prunedRecord(await collect(log.read("a")), 4, 5)] }, 6);
    table.agent("a").rows = table.agent("a").rows.filter(({ position }) => position !== 5);
    const seen = (await collect(log.read("a", { sinceSnapshot: true }))).map(({ position }) => position);
    expect(seen).toEqual([1, 2, 3, 6, 7]);
  });

  it("begins anew when the agent is dropped meanwhile", async () => {
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

  it("is replaced at once on the same machine", async () => {
    const { log } = made({ processIdentity: identity(false) });
    const first = await log.open("a", owner());
    expect(await log.owner("a")).toMatchObject({ state: "gone", incarnation: owner().incarnation });
    expect((await log.open("a", other)).generation).toBe(2);
    await expect(appendText(first, "late")).rejects.toMatchObject({ code: "ownership_lost" });
  });

  it.each([
    ["still runs", identity(true), owner()],
    ["is of another boot", identity(false), owner("another")],
    ["is one whose start nobody knows, where there are many machines", identity(false, ""), owner("b", "")],
  ])("is waited for while it %s", async (_, processIdentity, first) => {
    const { clock, log } = made({ processIdentity });
    await log.open("a", first);
    await expect(log.open("a", other)).rejects.toMatchObject({ code: "agent_busy", retryAfterMs: 15_000 });
    clock.advance(0);
  });

  it("need not have said what its system says of it", async () => {
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

it("an owner is silent by a clock that processes of one boot share, whoever looks for the first time", async () => {
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

it("an agent whose summary was changed is listed as unreadable, and nobody else", async () => {
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

it("a driver that answers at once leaves the event loop its turns", async () => {
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

it("what is no table, and a wrong option, is refused", () => {
  expect(() => new TableRecordLog({} as MemoryTable)).toThrow(/table of a log/);
  expect(() => new TableRecordLog(new MemoryTable(), { leaseMs: 0 })).toThrow(/leaseMs/);
});
