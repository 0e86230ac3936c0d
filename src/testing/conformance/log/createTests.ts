import type { NewAgent } from "../../../storage/RecordLog.ts";
import { appendText, exampleRecord, exampleSummary, logTest, type RecordLogTest } from "./logTest.ts";

/** Ids that a storage could confuse or sort differently. */
const ids = ["b", "B", "b ", "é😀", "a\0b", "10", "9"];

export const createTests: readonly RecordLogTest[] = [
  logTest("creates several agents with one append each, which nobody owns", async (storage, expect) => {
    expect.equal(
      "the created agents",
      await storage.createMany(ids.map(newAgent)),
      ids.map(() => true),
    );
    expect.equal("no agents to create", await storage.createMany([]), []);
    await storage.reopen();
    for (const agentId of ids) {
      await storage.expectTexts(agentId, [agentId], expect);
      expect.equal("its owner", await storage.log.owner(agentId), undefined);
      const [entry] = await storage.entries(agentId);
      expect.equal("its append", [entry?.position, entry?.id, entry?.prev], [1, "1-1", ""]);
    }
    const summaries = await storage.list({ status: "queued" });
    const expected = ids.map((agentId) => ({ ...exampleSummary(agentId, "queued", orderOf(agentId)), position: 1 }));
    const byId = (one: { readonly agentId: string }, other: { readonly agentId: string }) =>
      one.agentId < other.agentId ? -1 : 1;
    expect.equal("the summaries", summaries.toSorted(byId), expected.toSorted(byId));
    const next = await storage.open("b");
    expect.equal("the position and generation of the first owner", [next.position, next.generation], [1, 2]);
    await appendText(next, "after");
    await next.release();
    await storage.expectTexts("b", ["b", "after"], expect);
  }),

  logTest("creates no agent that exists, existed or has an owner", async (storage, expect) => {
    await storage.own("stored", (owned) => appendText(owned, "first"));
    await storage.own("deleted", async (owned) => {
      await appendText(owned, "first");
      await owned.drop();
    });
    const owned = await storage.open("owned");
    const agents = ["stored", "new", "deleted", "owned"].map(newAgent);
    expect.equal("the created agents", await storage.createMany(agents), [false, true, false, false]);
    expect.equal(
      "the created agents of a second call",
      await storage.createMany(agents),
      agents.map(() => false),
    );
    await storage.expectTexts("stored", ["first"], expect);
    await storage.expectTexts("new", ["new"], expect);
    for (const agentId of ["deleted", "owned"]) await storage.expectTexts(agentId, [], expect);
    expect.equal("the listed agents", await storage.listIds({ status: "queued" }), ["new"]);
    expect.equal("the append of the owner", await appendText(owned, "mine"), 1);
    await owned.release();
    await storage.expectTexts("owned", ["mine"], expect);
  }),

  logTest("reports agents as created even if the response was lost", async (storage, expect) => {
    await storage.own("stored", (owned) => appendText(owned, "first"));
    const agents = ["a", "stored", "b"].map(newAgent);
    if (storage.log.createMany) await storage.loseAnswer();
    const outcome = await storage.settle("a", () => storage.createMany(agents));
    if (outcome.status === "rejected") throw outcome.reason;
    expect.equal("the created agents", outcome.value, [true, false, true]);
    for (const agentId of ["a", "b"]) await storage.expectTexts(agentId, [agentId], expect);
    await storage.expectTexts("stored", ["first"], expect);
  }),
];

function newAgent(agentId: string): NewAgent {
  const summary = exampleSummary(agentId, "queued", orderOf(agentId));
  return { agentId, append: { id: "1-1", records: [exampleRecord(agentId)], summary } };
}

function orderOf(agentId: string) {
  return { order: `1 ${agentId}` };
}
