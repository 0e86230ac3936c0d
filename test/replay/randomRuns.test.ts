import fc from "fast-check";
import { expect, it } from "vitest";
import { replayRun } from "agent-persistence/replay";
import { live } from "../persistence/support/liveThrough.ts";
import { randomRun } from "../persistence/support/randomRuns.ts";
import { memory } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

it("any chain of nodes replays exactly after random crashes, rollbacks and moves", async () => {
  await fc.assert(
    fc.asyncProperty(randomRun, async (run) => {
      const opened = await memory.open();
      const random = await live(run, opened);
      const before = await recordsOf(opened());
      const done = [...random.world.done];
      const replayed = await replayRun(random.agent(opened()), { storage: opened(), agentId: "a" });
      expect(replayed.divergence).toBeUndefined();
      expect(replayed).toMatchObject({ matches: true, status: "completed" });
      expect(random.world.done).toEqual(done);
      expect(await recordsOf(opened())).toEqual(before);
    }),
    { numRuns: cases(15, 2_000) },
  );
});
