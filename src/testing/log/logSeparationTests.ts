import { agentIdGroups } from "../support/agentIdGroups.ts";
import { appendText, exampleSummary, logTest, type RecordLogTest } from "./logTest.ts";

/** That agents never see each other. */
export const logSeparationTests: readonly RecordLogTest[] = [
  ...Object.entries(agentIdGroups).map(([kind, agentIds]) =>
    logTest(`keeps agents apart with ids ${kind}`, async (storage, expect) => {
      for (const [index, agentId] of agentIds.entries()) {
        await storage.expectTexts(agentId, [], expect);
        const summary = exampleSummary(agentId, "queued", { order: String(index).padStart(3, "0") });
        await storage.own(agentId, (owned) => appendText(owned, agentId, { summary }));
      }
      await storage.reopen();
      for (const agentId of agentIds) await storage.expectTexts(agentId, [agentId], expect);
      expect.equal("the agents listed", await storage.listIds(), agentIds);
    }),
  ),

  logTest("has as many owners as agents, and their appends do not mix", async (storage, expect) => {
    const agentIds = ["a", "b", "aa", "c", "A"];
    const owners = await Promise.all(agentIds.map((agentId) => storage.open(agentId)));
    for (let n = 1; n <= 4; n++) {
      const positions = await Promise.all(owners.map((owned, index) => appendText(owned, `${agentIds[index]} ${n}`)));
      expect.equal(`the positions of append ${n}`, positions, [n, n, n, n, n]);
    }
    await owners[0]?.drop();
    await Promise.all(owners.slice(1).map((owned) => owned.release()));
    await storage.reopen();
    await storage.expectTexts("a", [], expect);
    for (const agentId of agentIds.slice(1)) {
      const texts = [1, 2, 3, 4].map((n) => `${agentId} ${n}`);
      await storage.expectTexts(agentId, texts, expect);
    }
  }),
];
