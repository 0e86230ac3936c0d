import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import type { Entry } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { rewriteKept } from "../../../src/checkpoint/pruning/rewriteKept.ts";
import { Pace } from "../../../src/internal/nextTurn.ts";
import { forgeConversation } from "../../persistence/support/forgedConversation.ts";

class CountedPace extends Pace {
  bytes = 0;

  override async after(bytes: number): Promise<void> {
    this.bytes += bytes;
  }
}

/** How much a second pruning goes over, after one that left only the first checkpoint, one in the middle and the last. */
async function secondPruning(runs: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  await forgeConversation(storage, runs);
  let entries: Entry[] = [];
  for await (const entry of storage.log.read("a")) entries.push(entry);
  const kept = new Set([1, runs, 2 * runs]);
  const rewrite = async (pace: Pace) => {
    const index = new LogProjection();
    for (const entry of entries) index.add(entry);
    const restated = await rewriteKept(entries, index, kept, () => false, pace);
    entries = restated.map((entry) => ({ id: "", prev: "", ...entry }));
  };
  await rewrite(new Pace());
  const pace = new CountedPace();
  await rewrite(pace);
  return pace.bytes;
}

it("a pruned log is pruned again at a cost in proportion to its remaining size", async () => {
  const [few, many] = [await secondPruning(200), await secondPruning(800)];
  expect(many / few).toBeLessThan(4.4);
});
