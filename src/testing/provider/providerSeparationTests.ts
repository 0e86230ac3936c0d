import { agentIdGroups } from "../support/agentIdGroups.ts";
import { exampleCheckpoint, exampleCheckpoints } from "./exampleCheckpoint.ts";
import { providerTest, type ProviderTest } from "./providerTest.ts";

/** That agents never see each other. */
export const providerSeparationTests: readonly ProviderTest[] = [
  ...Object.entries(agentIdGroups).map(([kind, agentIds]) =>
    providerTest(`keeps agents apart with ids ${kind}`, async (storage, expect) => {
      for (const agentId of agentIds) {
        await storage.expectStored(agentId, [], expect);
        await storage.save(exampleCheckpoint(agentId, 1));
      }
      for (const agentId of agentIds) await storage.expectStored(agentId, [exampleCheckpoint(agentId, 1)], expect);
    }),
  ),

  providerTest("keeps agents apart that use the same ids for checkpoints and runs", async (storage, expect) => {
    const all = (agentId: string) => exampleCheckpoints(agentId, 5).map((data) => ({ ...data, runId: "the run" }));
    for (const step of [0, 1, 2, 3, 4])
      for (const agentId of ["a", "b", "c"]) await storage.saveAll(all(agentId).slice(step, step + 1));
    for (const agentId of ["a", "b", "c"]) await storage.expectStored(agentId, all(agentId), expect);
  }),

  providerTest("saves different agents at once", async (storage, expect) => {
    const agentIds = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
    await Promise.all(agentIds.map((agentId) => storage.saveAll(exampleCheckpoints(agentId, 4))));
    await Promise.all(agentIds.map((agentId) => storage.expectStored(agentId, exampleCheckpoints(agentId, 4), expect)));
  }),

  providerTest("answers for one agent while others save", async (storage, expect) => {
    await storage.saveAll(exampleCheckpoints("reader", 3));
    const writers = ["w1", "w2", "w3"].map((agentId) => storage.saveAll(exampleCheckpoints(agentId, 4)));
    const readers = [1, 2, 3].map(() => storage.expectStored("reader", exampleCheckpoints("reader", 3), expect));
    await Promise.all([...writers, ...readers]);
  }),
];
