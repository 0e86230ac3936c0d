import fc from "fast-check";
import { expect, it } from "vitest";
import { replayRun } from "agent-persistence/replay";
import { crashing, liveLines } from "../persistence/lines/support/liveLines.ts";
import { linesAgent } from "../persistence/lines/support/linesAgent.ts";
import { linesOf } from "../persistence/lines/support/randomLines.ts";
import { memory } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

it.each([
  { depth: 1, numRuns: cases(8, 1_000) },
  { depth: 2, numRuns: cases(5, 400) },
])(
  "branches and sub-agents $depth deep replay exactly after crashes, rollbacks and answers",
  async ({ depth, numRuns }) => {
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
      { numRuns },
    );
  },
);
