import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { expect, it } from "vitest";
import { offersLog } from "../../src/storage/PersistenceStorageProvider.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

it("crashAfter shows the generation of a log after it was pruned", async () => {
  const storage = crashAfter(new FilePersistenceStorageProvider({ directory: await testDirectory() }), 3);
  if (!offersLog(storage)) return expect.unreachable();
  const owned = await storage.log.open("a", processOwner());
  await owned.append({ id: "1-1", records: [] }, 0);
  await owned.prune();
  expect(owned.generation).toBe((await storage.log.owner("a"))?.generation);
  await owned.release();
});

it("a SimulatedClock never moves its monotonic time back for a timer that is overdue", () => {
  const clock = new SimulatedClock();
  clock.advance(100);
  const seen: number[] = [];
  clock.after(-50, () => seen.push(clock.monotonic()));
  clock.advance(0);
  expect(seen).toEqual([100]);
});
