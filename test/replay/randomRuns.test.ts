import fc from "fast-check";
import { expect, it } from "vitest";
import { replayRun } from "agent-persistence/replay";
import { live } from "../persistence/support/liveThrough.ts";
import { randomRun, type RandomRun } from "../persistence/support/randomRuns.ts";
import { memory } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

async function replaysExactly(run: RandomRun): Promise<void> {
  const opened = await memory.open();
  const random = await live(run, opened);
  const before = await recordsOf(opened());
  const done = [...random.world.done];
  const replayed = await replayRun(random.agent(opened()), { storage: opened(), agentId: "a" });
  expect(replayed.divergence).toBeUndefined();
  expect(replayed).toMatchObject({ matches: true, status: "completed" });
  expect(random.world.done).toEqual(done);
  expect(await recordsOf(opened())).toEqual(before);
}

it("any chain of nodes replays exactly after random crashes, rollbacks and moves", async () => {
  await fc.assert(fc.asyncProperty(randomRun, replaysExactly), { numRuns: cases(15, 2_000) });
});

it("a run that moves to the same execution point twice, and saves no checkpoint between, replays exactly", async () => {
  const nodes = [[], [{ kind: "point", to: 0 }], []] as const;
  const common = { automatic: false, processes: [], effect: "idempotent" } as const;
  await replaysExactly({ ...common, nodes, moves: 2, settledBy: "handler", settledAs: "retry" });
});
