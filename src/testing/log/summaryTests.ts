import { changeDeeply } from "../support/changeDeeply.ts";
import { appendText, exampleSummary, logTest, type RecordLogTest } from "./logTest.ts";

/** That a list shows each agent with its newest summary. */
export const summaryTests: readonly RecordLogTest[] = [
  logTest("lists the summary as given, with the position of its append", async (storage, expect) => {
    await storage.own("a", async (owned) => {
      await appendText(owned, "1");
      expect.equal("the list before any summary", await storage.list(), []);
      await appendText(owned, "2", { summary: exampleSummary("a", "queued", { position: 77 }) });
      expect.equal("the list", await storage.list(), [exampleSummary("a", "queued", { position: 2 })]);
    });
    await storage.reopen();
    expect.equal("the list after reopening", await storage.list(), [exampleSummary("a", "queued", { position: 2 })]);
  }),

  logTest("lists the newest summary only, under its own status only", async (storage, expect) => {
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

  logTest("sorts by order as text, then by agent id", async (storage, expect) => {
    const orders = { d: "1", b: "2", a: "2", c: "10", B: "2", e: "é", f: "z", g: "" };
    for (const [agentId, order] of Object.entries(orders)) {
      await storage.own(agentId, (owned) =>
        appendText(owned, "x", { summary: exampleSummary(agentId, "queued", { order }) }),
      );
    }
    expect.equal("the agents", await storage.listIds(), ["g", "d", "c", "B", "a", "b", "f", "e"]);
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

  logTest("never omits an agent while its summary is written anew", async (storage, expect) => {
    const agentIds = Array.from({ length: 10 }, (_, n) => `agent ${n}`);
    const rewrite = (agentId: string, times: number) =>
      storage.own(agentId, async (owned) => {
        for (let n = 0; n < times; n++)
          await appendText(owned, "x", { summary: exampleSummary(agentId, "queued", { data: n }) });
      });
    for (const agentId of agentIds) await rewrite(agentId, 1);
    let rewriting = true;
    const all = Promise.all(agentIds.map((agentId) => rewrite(agentId, 10))).finally(() => (rewriting = false));
    while (rewriting) expect.equal("the agents queued", await storage.listIds({ status: "queued" }), agentIds);
    await all;
    const newest = new Set((await storage.list()).map(({ data }) => data));
    expect.equal("the newest data", [...newest], [9]);
  }),

  logTest("keeps a summary when the caller or a reader changes it", async (storage, expect) => {
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
