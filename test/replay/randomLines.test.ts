import fc from "fast-check";
import { expect, it } from "vitest";
import { replayRun } from "agent-persistence/replay";
import { crashing, liveLines } from "../persistence/lines/support/liveLines.ts";
import { linesAgent } from "../persistence/lines/support/linesAgent.ts";
import { linesOf } from "../persistence/lines/support/randomLines.ts";
import { memory } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

it.each([1, 2])(
  "branches and sub-agents %i deep replay exactly after crashes, rollbacks and answers",
  async (depth) => {
    await fc.assert(
      fc.asyncProperty(linesOf(depth), async (lines) => {
        const opened = await memory.open();
        const world = await liveLines(lines, crashing(opened));
        const before = await recordsOf(opened());
        const done = [...world.done];
        const replayed = await replayRun(linesAgent(world, opened()), { storage: opened(), agentId: "a" });
        expect(replayed.divergence).toBeUndefined();
        expect(replayed).toMatchObject({ matches: true, status: "completed" });
        expect(world.done).toEqual(done);
        expect(await recordsOf(opened())).toEqual(before);
      }),
      { numRuns: cases(3, 150) },
    );
  },
);
