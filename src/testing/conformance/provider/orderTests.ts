import { agentIdGroups } from "../../support/agentIdGroups.ts";
import { exampleCheckpoint, exampleCheckpoints, fullCheckpoints } from "./exampleCheckpoint.ts";
import { providerTest, type ProviderTest } from "./providerTest.ts";

export const orderTests: readonly ProviderTest[] = [
  providerTest("returns no checkpoints for an unknown agent", async (storage, expect) => {
    await storage.expectStored("unseen", [], expect);
    await storage.save(exampleCheckpoint("seen-1", 1));
    await storage.expectStored("unseen", [], expect);
    await storage.expectStored("seen", [], expect);
  }),

  providerTest("returns checkpoints oldest first", async (storage, expect) => {
    const all = exampleCheckpoints("a", 12);
    for (const [index, data] of all.entries()) {
      await storage.save(data);
      await storage.expectStored("a", all.slice(0, index + 1), expect);
    }
  }),

  providerTest("finds the latest checkpoint by version, even if the clock was set back", async (storage, expect) => {
    const hours = [10, 9, 12, 11, 8];
    const all = hours.map((hour, index) =>
      exampleCheckpoint("a", index + 1, { createdAt: new Date(Date.UTC(2026, 0, 1, hour)).toISOString() }),
    );
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),

  providerTest("keeps the order of checkpoints made in one millisecond", async (storage, expect) => {
    const createdAt = new Date(Date.UTC(2026, 0, 1)).toISOString();
    const all = exampleCheckpoints("a", 20).map((data) => ({ ...data, createdAt }));
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),

  providerTest("accepts gaps of any size between versions", async (storage, expect) => {
    const versions = [1, 2, 9, 10, 11, 99, 100, 1_000, 2 ** 31, 2 ** 32 + 1, 2 ** 40];
    const all = versions.map((version, index) =>
      exampleCheckpoint("a", version, { ...(index > 0 && { parentId: `1-${versions[index - 1]}` }) }),
    );
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),

  providerTest("keeps 200 checkpoints of one agent", async (storage, expect) => {
    const all = exampleCheckpoints("a", 200);
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),

  providerTest("keeps earlier checkpoints of the same node", async (storage, expect) => {
    const first = exampleCheckpoint("a", 1, { nodeId: "loop", lastInput: "first time" });
    const second = exampleCheckpoint("a", 2, { nodeId: "loop", lastInput: "second time" });
    const other = exampleCheckpoint("a", 3, { nodeId: "end", lastInput: "first time" });
    await storage.saveAll([first, second, other]);
    await storage.expectStored("a", [first, second, other], expect);
  }),

  providerTest("keeps branches: two checkpoints with one parent, and two runs", async (storage, expect) => {
    const root = exampleCheckpoint("a", 1);
    const left = exampleCheckpoint("a", 2, { lastInput: "left" });
    const right = exampleCheckpoint("a", 3, { lastInput: "right", parentId: "1-1" });
    const next = exampleCheckpoint("a", 4, { runId: "another run", parentId: "1-3", messageHistory: [] });
    const back = exampleCheckpoint("a", 5, { lastInput: "back in the first run", parentId: "1-1" });
    await storage.saveAll([root, left, right, next, back]);
    await storage.expectStored("a", [root, left, right, next, back], expect);
  }),

  providerTest("keeps checkpoints of parallel branches", async (storage, expect) => {
    const end = { nodeId: "finish", lastInput: "the same", status: "completed", parentId: "1-1" } as const;
    const fork = exampleCheckpoint("a", 1, { nodeId: "both" });
    const loud = exampleCheckpoint("a", 2, { ...end, branch: "both#loud" });
    const quiet = exampleCheckpoint("a", 3, { ...end, branch: "both#quiet" });
    const join = exampleCheckpoint("a", 4, { nodeId: "both", parentId: "1-1", joined: "1-1" });
    await storage.saveAll([fork, loud, quiet]);
    const latest = await storage.latest("a");
    expect.equal("the latest checkpoint while branches are open", latest?.checkpointId, fork.checkpointId);
    await storage.save(join);
    await storage.expectStored("a", [fork, loud, quiet, join], expect);
  }),

  providerTest("separates checkpoints with similar ids", async (storage, expect) => {
    const ids = ["first", "First", "first ", ..."first/1 ../first __proto__ constructor é e\u0301 f 1 01".split(" ")];
    ids.push("x".repeat(256));
    const all = ids.map((checkpointId, index) =>
      exampleCheckpoint("a", index + 1, { checkpointId, ...(index > 0 && { parentId: ids[index - 1] ?? "" }) }),
    );
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),
];

/** Tests that the next process finds all data, if the harness can reopen the storage. */
export const reopenTests: readonly ProviderTest[] = [
  providerTest("returns all checkpoints after it was reopened", async (storage, expect) => {
    await storage.saveAll(fullCheckpoints("a"));
    await storage.saveAll(exampleCheckpoints("b", 3));
    await storage.reopen();
    await storage.expectStored("b", exampleCheckpoints("b", 3), expect);
    await storage.expectStored("a", fullCheckpoints("a"), expect);
    await storage.expectStored("c", [], expect);
  }),

  providerTest("continues after it was reopened several times", async (storage, expect) => {
    const all = exampleCheckpoints("a", 6);
    for (const [index, data] of all.entries()) {
      await storage.save(data);
      await storage.reopen();
      await storage.expectStored("a", all.slice(0, index + 1), expect);
    }
    await storage.save(exampleCheckpoint("b", 1));
    await storage.expectStored("a", all, expect);
  }),
];

export const providerSeparationTests: readonly ProviderTest[] = [
  ...Object.entries(agentIdGroups).map(([kind, agentIds]) =>
    providerTest(`separates agents with ids ${kind}`, async (storage, expect) => {
      for (const agentId of agentIds) {
        await storage.expectStored(agentId, [], expect);
        await storage.save(exampleCheckpoint(agentId, 1));
      }
      for (const agentId of agentIds) await storage.expectStored(agentId, [exampleCheckpoint(agentId, 1)], expect);
    }),
  ),

  providerTest("separates agents that use the same ids for checkpoints and runs", async (storage, expect) => {
    const all = (agentId: string) => exampleCheckpoints(agentId, 5).map((data) => ({ ...data, runId: "the run" }));
    for (const step of [0, 1, 2, 3, 4])
      for (const agentId of ["a", "b", "c"]) await storage.saveAll(all(agentId).slice(step, step + 1));
    for (const agentId of ["a", "b", "c"]) await storage.expectStored(agentId, all(agentId), expect);
  }),

  providerTest("saves different agents concurrently", async (storage, expect) => {
    const agentIds = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
    await Promise.all(agentIds.map((agentId) => storage.saveAll(exampleCheckpoints(agentId, 4))));
    await Promise.all(agentIds.map((agentId) => storage.expectStored(agentId, exampleCheckpoints(agentId, 4), expect)));
  }),

  providerTest("returns one agent's checkpoints while others are saved", async (storage, expect) => {
    await storage.saveAll(exampleCheckpoints("reader", 3));
    const writers = ["w1", "w2", "w3"].map((agentId) => storage.saveAll(exampleCheckpoints(agentId, 4)));
    const readers = [1, 2, 3].map(() => storage.expectStored("reader", exampleCheckpoints("reader", 3), expect));
    await Promise.all([...writers, ...readers]);
  }),
];
