import { nextTurn } from "../../../internal/nextTurn.ts";
import type { ReadOptions } from "../../../storage/RecordLog.ts";
import { changeDeeply } from "../../support/jsonValues.ts";
import { appendText, exampleSummary, logTest, type RecordLogTest, type RecordLogUnderTest } from "./logTest.ts";

export const summaryTests: readonly RecordLogTest[] = [
  logTest("lists a summary unchanged with the position of its append", async (storage, expect) => {
    await storage.own("a", async (owned) => {
      await appendText(owned, "1");
      expect.equal("the list before any summary", await storage.list(), []);
      await appendText(owned, "2", { summary: exampleSummary("a", "queued", { position: 77 }) });
      expect.equal("the list", await storage.list(), [exampleSummary("a", "queued", { position: 2 })]);
    });
    await storage.reopen();
    expect.equal("the list after reopening", await storage.list(), [exampleSummary("a", "queued", { position: 2 })]);
  }),

  logTest("lists only the newest summary, and only under its status", async (storage, expect) => {
    const { runId: _runId, dueAt: _dueAt, ...least } = exampleSummary("a", "done", { requestIds: [], data: null });
    await storage.own("a", async (owned) => {
      await appendText(owned, "1", { summary: exampleSummary("a", "queued") });
      await appendText(owned, "2", { summary: exampleSummary("a", "in_progress", { order: "0" }) });
      expect.equal("the agents queued", await storage.listIds({ status: "queued" }), []);
      expect.equal("the agents in progress", await storage.listIds({ status: "in_progress" }), ["a"]);
      await appendText(owned, "3");
      await appendText(owned, "4", { summary: least });
      await appendText(owned, "5");
    });
    await storage.reopen();
    expect.equal("the list", await storage.list(), [{ ...least, position: 4 }]);
    expect.equal("the agents in no status", await storage.listIds({ status: "don" }), []);
  }),

  logTest("sorts by the UTF-8 bytes of order", async (storage, expect) => {
    await fillOrders(storage);
    expect.equal("the orders", await storage.listOrders(), orders);
  }),

  logTest("lists every agent once across pages, in ascending order", async (storage, expect) => {
    await fillOrders(storage);
    for (const [n, after] of orders.entries()) {
      const behind = orders.slice(n + 1);
      expect.equal(`those after ${after}`, await storage.listOrders({ after }), behind);
      const first = await storage.listOrders({ status: "queued", after, limit: 1 });
      expect.equal(`the first queued after ${after}`, first, behind.slice(0, 1));
    }
  }),

  logTest("lists by status, after an order, and up to a limit", async (storage, expect) => {
    for (let n = 0; n < 12; n++) {
      const summary = exampleSummary(`agent ${n}`, n % 3 === 0 ? "failed" : "queued", {
        order: String(n).padStart(3, "0"),
      });
      await storage.own(summary.agentId, (owned) => appendText(owned, "x", { summary }));
    }
    const ids = (...numbers: number[]) => numbers.map((n) => `agent ${n}`);
    expect.equal("those that failed", await storage.listIds({ status: "failed" }), ids(0, 3, 6, 9));
    expect.equal("those after 004", await storage.listIds({ after: "004" }), ids(5, 6, 7, 8, 9, 10, 11));
    expect.equal("the first two", await storage.listIds({ limit: 2 }), ids(0, 1));
    expect.equal("none", await storage.listIds({ limit: 0 }), []);
    const page = await storage.listIds({ status: "queued", after: "0045", limit: 2 });
    expect.equal("two queued after 0045", page, ids(5, 7));
    expect.equal("those after the last", await storage.listIds({ after: "011" }), []);
  }),

  logTest("filters by several statuses, free agents, due time and age", async (storage, expect) => {
    storage.assertNarrows();
    const statuses = ["queued", "waiting", "in_progress", "completed"];
    const day = (n: number) => `2026-02-0${n + 1}T00:00:00.000Z`;
    for (const [n, status] of statuses.entries()) {
      const { dueAt: _dueAt, ...summary } = exampleSummary(status, status, { order: String(n), updatedAt: day(n) });
      const given = status === "queued" ? summary : { ...summary, dueAt: day(n) };
      await storage.own(status, (owned) => appendText(owned, "x", { summary: given }));
    }
    const several = await storage.listIds({ status: ["completed", "queued", "queued"] });
    expect.equal("those queued or completed", several, ["queued", "completed"]);
    expect.equal("those in no status", await storage.listIds({ status: [] }), []);
    expect.equal("those due", await storage.listIds({ dueBefore: day(2) }), ["waiting", "in_progress"]);
    expect.equal("those waiting and due", await storage.listIds({ status: "waiting", dueBefore: day(0) }), []);
    expect.equal("those not changed since", await storage.listIds({ updatedBefore: day(1) }), ["queued", "waiting"]);
    const owned = await storage.open("in_progress");
    const free = { status: statuses.slice(0, 3), free: true } as const;
    expect.equal("those that are free", await storage.listIds(free), ["queued", "waiting"]);
    expect.equal("the first behind 0 that is free", await storage.listIds({ free: true, after: "0", limit: 1 }), [
      "waiting",
    ]);
    expect.equal("the first two behind 0 that are free", await storage.listIds({ free: true, after: "0", limit: 2 }), [
      "waiting",
      "completed",
    ]);
    await owned.release();
    expect.equal("the second and third of all", await storage.listIds({ ...free, after: "0", limit: 2 }), [
      "waiting",
      "in_progress",
    ]);
  }),

  logTest("never omits an agent while its summary is rewritten", async (storage, expect) => {
    const agentIds = Array.from({ length: 10 }, (_, n) => `agent ${n}`);
    const rewrite = (agentId: string, times: number) =>
      storage.own(agentId, async (owned) => {
        for (let n = 0; n < times; n++)
          await appendText(owned, "x", { summary: exampleSummary(agentId, "queued", { data: n }) });
      });
    for (const agentId of agentIds) await rewrite(agentId, 1);
    let rewriting = true;
    const all = Promise.all(agentIds.map((agentId) => rewrite(agentId, 10))).finally(() => (rewriting = false));
    // Prevents an unhandled rejection if the list fails first.
    all.catch(() => {});
    for (; rewriting; await nextTurn())
      expect.equal("the agents queued", await storage.listIds({ status: "queued" }), agentIds);
    await all;
    const newest = new Set((await storage.list()).map(({ data }) => data));
    expect.equal("the newest data", [...newest], [9]);
  }),

  logTest("keeps a stored summary when a caller changes its object", async (storage, expect) => {
    const summary = exampleSummary("a", "queued");
    await storage.own("a", async (owned) => {
      const append = appendText(owned, "1", { summary });
      changeDeeply(summary);
      await append;
      changeDeeply(await storage.list());
    });
    expect.equal("the list", await storage.list(), [exampleSummary("a", "queued", { position: 1 })]);
  }),
];

const long = "é".repeat(200);
/** Orders in the order of a list. Sorted by code units, without case, or truncated, the orders have another order. */
const orders = ["1", "10", "2 B", "2 a", "2 a ", "z", "é", `${long}-1`, `${long}-2`, "\ue000", "\uffff", "😀", "😀!"];

/** Creates agents whose ids sort in the opposite order. */
async function fillOrders(storage: RecordLogUnderTest): Promise<void> {
  for (const [n, order] of orders.entries()) {
    const agentId = `agent ${99 - n}`;
    const summary = exampleSummary(agentId, "queued", { order });
    await storage.own(agentId, (owned) => appendText(owned, "x", { summary }));
  }
}

const count = 20;
const snapshots = [6, 7, 15];

/** Tests the results of reading, and that reading does not disturb owners. */
export const readTests: readonly RecordLogTest[] = [
  logTest("reads the entries after one position and up to another", async (storage, expect) => {
    await fill(storage);
    const bounds = [undefined, 0, 1, 7, 19, 20, 21];
    for (const after of bounds) for (const upTo of bounds) await expectRead(storage, expect, { after, upTo });
  }),

  logTest("starts at the newest snapshot if requested", async (storage, expect) => {
    await fill(storage);
    const bounds = [undefined, 0, 4, 6, 7, 10, 14, 15, 16, 20, 21];
    for (const after of bounds) await expectRead(storage, expect, { after, sinceSnapshot: true });
    for (const upTo of bounds) await expectRead(storage, expect, { upTo, sinceSnapshot: true });
    await expectRead(storage, expect, { after: 8, upTo: 10, sinceSnapshot: true });
  }),

  logTest("starts at the beginning without a snapshot", async (storage, expect) => {
    await storage.own("a", async (owned) => {
      for (const text of ["1", "2", "3"]) await appendText(owned, text, { snapshot: false });
    });
    const positions = await storage.positions("a", { sinceSnapshot: true });
    expect.equal("the positions since the newest snapshot", positions, [1, 2, 3]);
  }),

  logTest("reads an owned log without disturbing its owner", async (storage, expect) => {
    const owned = await storage.open("a");
    for (let n = 1; n <= 5; n++) {
      await appendText(owned, String(n));
      expect.equal(`the positions after append ${n}`, await storage.positions("a"), range(1, n));
    }
    expect.equal("the owner", (await storage.log.owner("a"))?.generation, owned.generation);
    expect.equal("the position of the next append", await appendText(owned, "6"), 6);
  }),

  logTest("reads a complete prefix of the log while it grows", async (storage, expect) => {
    const owned = await storage.open("a");
    for (let n = 1; n <= 5; n++) await appendText(owned, String(n));
    const seen: number[] = [];
    for await (const { position } of storage.log.read("a")) {
      seen.push(position);
      if (seen.length <= 5) await appendText(owned, "more");
    }
    expect.equal("the positions seen", seen, range(1, seen.length));
    expect.isTrue("their number", seen.length >= 5, "at least 5", seen.length);
    expect.equal("the positions afterwards", await storage.positions("a"), range(1, 10));
  }),

  logTest("allows a reader to stop early and two readers to read concurrently", async (storage, expect) => {
    await fill(storage);
    for await (const { position } of storage.log.read("a")) if (position === 3) break;
    const [one, two] = await Promise.all([storage.positions("a"), storage.positions("a", { after: 10 })]);
    expect.equal("the positions of both", [one, two], [range(1, count), range(11, count)]);
  }),
];

async function fill(storage: RecordLogUnderTest): Promise<void> {
  for (const half of [0, 10]) {
    await storage.own("a", async (owned) => {
      for (let n = half + 1; n <= half + 10; n++)
        await appendText(owned, String(n), { snapshot: snapshots.includes(n) });
    });
  }
  await storage.reopen();
}

async function expectRead(
  storage: RecordLogUnderTest,
  expect: { equal(subject: string, found: unknown, expected: unknown): void },
  bounds: { readonly after?: number | undefined; readonly upTo?: number | undefined; readonly sinceSnapshot?: boolean },
): Promise<void> {
  const { after = 0, upTo = count, sinceSnapshot = false } = bounds;
  const newest = sinceSnapshot ? (snapshots.findLast((position) => position <= upTo) ?? 1) : 1;
  const options = Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as ReadOptions;
  const expected = range(Math.max(after + 1, newest), Math.min(upTo, count));
  expect.equal(`the positions read with ${JSON.stringify(options)}`, await storage.positions("a", options), expected);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
