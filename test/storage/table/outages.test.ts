import { TableRecordLog, type LogOwner } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { collect } from "../file/support/fixture.ts";
import { connectionLost, MemoryTable } from "./MemoryTable.ts";
import { cases } from "../../soak/cases.ts";

const numRuns = cases(15, 500);
const [me, other]: LogOwner[] = ["me", "other"].map((nonce, index) => ({ host: "here", processId: index + 1, nonce }));
const leaseMs = 15_000;
const retryMs = 30_000;

/** A table whose server can be away, and may carry out what it does not answer. */
function made() {
  const [table, clock] = [new MemoryTable(), new SimulatedClock()];
  const log = new TableRecordLog(table, { clock, processIdentity: anyProcess });
  let backAt = 0;
  const isAway = () => clock.monotonic() < backAt;
  table.onCall = () => {
    table.losesAnswer = false;
    if (isAway()) throw connectionLost();
  };
  const breakFor = (ms: number) => void (backAt = clock.monotonic() + ms);
  return { table, clock, log, breakFor };
}

/** Lets time pass until a call has ended. */
async function settled<Result>(clock: SimulatedClock, call: PromiseLike<Result>): Promise<Result> {
  let ended = false;
  const outcome = Promise.resolve(call).finally(() => (ended = true));
  outcome.catch(() => {});
  while (!ended) {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    if (!ended) clock.advance(100);
  }
  return outcome;
}

async function pass(clock: SimulatedClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(left, 100));
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  }
}

describe("an outage shorter than `retryMs`", () => {
  it("does not end an ownership, whenever the outage starts and the next append is due", async () => {
    const ms = (max: number) => fc.integer({ min: 0, max: max / 100 }).map((tenths) => tenths * 100);
    await fc.assert(
      fc.asyncProperty(ms(20_000), ms(28_000), ms(28_000), async (before, lasts, due) => {
        const { clock, log, breakFor } = made();
        const owned = await log.open("a", me as LogOwner);
        await settled(clock, appendText(owned, "1"));
        await pass(clock, before);
        breakFor(lasts);
        await pass(clock, due);
        expect(await settled(clock, appendText(owned, "2"))).toBe(2);
        expect(owned.lost.aborted).toBe(false);
        await owned.release();
      }),
      { numRuns },
    );
  });

  it("renews the lease before an append resolves that took more than half of it", async () => {
    const { table, clock, log } = made();
    const owned = await log.open("a", me as LogOwner);
    // The append alone fails, and renewals are held back: the owner looks silent.
    let renewals = 0;
    const from = clock.monotonic();
    table.onCall = (method) => {
      if (clock.monotonic() - from < 12_000 && ["append", "renew"].includes(method)) throw connectionLost();
      if (method === "renew") renewals++;
    };
    await settled(clock, appendText(owned, "1"));
    const { beat } = table.agent("a");
    expect(renewals).toBeGreaterThan(0);
    expect(beat).not.toBe("0");
    await owned.release();
  });

  it("renews the lease before the first append of an open that took most of it", async () => {
    const { table, clock, log } = made();
    const first = await log.open("a", other as LogOwner);
    await appendText(first, "1");
    await first.release();
    table.onCall = (method) => {
      if (method === "rows") clock.advance(leaseMs - 100);
    };
    const owned = await settled(clock, log.open("a", me as LogOwner));
    table.onCall = (method) => {
      if (method === "renew") throw connectionLost();
    };
    let isStored = false;
    const appended = appendText(owned, "2").finally(() => (isStored = true));
    await pass(clock, 1_000);
    expect(isStored).toBe(false);
    table.onCall = () => {};
    expect(await settled(clock, appended)).toBe(2);
    await owned.release();
  });

  it.each(["claim", "head", "rows"])("delays an open whose first %s fails", async (failing) => {
    const { table, clock, log } = made();
    const first = await log.open("a", other as LogOwner);
    await appendText(first, "1");
    await first.release();
    let failures = 4;
    // An open asks for the head only after a refused claim, such as one after a lost answer.
    if (failing === "head") table.losesAnswer = true;
    table.onCall = (method) => {
      if (method === failing && failures-- > 0) throw connectionLost();
    };
    const owned = await settled(clock, log.open("a", me as LogOwner));
    expect(owned.position).toBe(1);
    expect(failures).toBeLessThan(4);
    expect(await settled(clock, appendText(owned, "2"))).toBe(2);
  });

  it("keeps no orphaned owner when the response to a claim is lost", async () => {
    const { table, clock, log } = made();
    table.losesAnswer = true;
    table.onCall = () => {};
    const owned = await settled(clock, log.open("a", me as LogOwner));
    expect(await settled(clock, appendText(owned, "1"))).toBe(1);
    await expect(log.open("a", other as LogOwner)).rejects.toMatchObject({ code: "agent_busy" });
    await owned.release();
    expect((await log.open("a", other as LogOwner)).position).toBe(1);
  });

  it("returns an error for a created agent that is deleted after a lost response, and creates the others", async () => {
    const { table, clock, log } = made();
    const records = [{ kind: "text" }];
    const agents = ["a", "b"].map((agentId) => ({ agentId, append: { id: "1", records } }));
    table.losesAnswer = true;
    table.onCall = () => {};
    const created = settled(clock, Promise.resolve(log.createMany?.(agents)));
    const owned = await log.open("a", other as LogOwner);
    await owned.drop();
    expect(await created).toMatchObject([{ code: "storage_failed" }, true]);
    expect(await log.createMany?.(agents)).toEqual([false, false]);
  });

  it("delays reads, lists and requests", async () => {
    const { clock, log, breakFor } = made();
    const owned = await log.open("a", me as LogOwner);
    await appendText(owned, "1", { summary: exampleSummary("a", "queued") });
    const entries = await collect(log.read("a"));
    const calls: Readonly<Record<string, () => PromiseLike<unknown>>> = {
      read: () => collect(log.read("a")),
      lines: () => collect(log.encodedAppends("a")),
      list: () => collect(log.list()),
      owner: () => log.owner("a"),
      unremovedBytes: () => log.unremovedBytes("a"),
      checkStop: () => owned.checkStop?.() ?? Promise.resolve(),
      prune: async () => {
        await owned.append({ id: "p", records: [prunedRecord(entries, 1, 1)] }, 1);
        await owned.prune();
      },
      requestStop: () => log.requestStop("a", "now"),
      watch: async () => (await log.watch(() => {})).close(),
    };
    const failed: string[] = [];
    for (const [name, call] of Object.entries(calls)) {
      breakFor(20_000);
      await settled(clock, call()).catch(() => failed.push(name));
    }
    expect(failed).toEqual([]);
  });
});

it("an outage causes no warning about listeners, however many calls wait", async () => {
  const { clock, log, breakFor } = made();
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  breakFor(20_000);
  const reads = Promise.all(Array.from({ length: 30 }, (_, n) => collect(log.read(`agent ${n}`))));
  expect(await settled(clock, reads)).toHaveLength(30);
  expect(warnings).toEqual([]);
});

describe("an outage longer than `retryMs`", () => {
  it("ends a call after `retryMs` with advice on how to reach the database", async () => {
    const { clock, log, breakFor } = made();
    breakFor(Infinity);
    const from = clock.monotonic();
    const failed = settled(clock, collect(log.list()));
    await expect(failed).rejects.toMatchObject({ code: "storage_failed", reason: "unavailable" });
    await expect(failed).rejects.toThrow("Check that a table in memory can be reached");
    expect(clock.monotonic() - from).toBeGreaterThanOrEqual(retryMs);
    expect(clock.monotonic() - from).toBeLessThan(retryMs + leaseMs);
  });

  it("does not delay closing the log", async () => {
    const { clock, log, breakFor } = made();
    const owned = await log.open("a", me as LogOwner);
    breakFor(Infinity);
    await pass(clock, 6_000);
    const list = collect(log.list()).catch((error: unknown) => error);
    const from = clock.monotonic();
    await settled(clock, log.close());
    expect(await settled(clock, list)).toMatchObject({ code: "storage_failed" });
    expect(clock.monotonic() - from).toBeLessThan(1_000);
    await expect(appendText(owned, "1")).rejects.toMatchObject({ code: "storage_closed" });
  });
});
