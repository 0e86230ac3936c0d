import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { recoverStore } from "./recoverStore.ts";
import { Stage } from "./Stage.ts";

/** Checks the store after every crash that may have come since a moment of a stage. */
export async function exploreStore(
  stage: Stage,
  crashes: Crashes,
  { from = 0, nested = true, sampled = false }: { from?: number; nested?: boolean; sampled?: boolean } = {},
): Promise<void> {
  for (const state of crashes.statesOf(stage.fileSystem, from, sampled)) {
    const allowed = stage.history.allowedAt(state.after);
    const restarted = crashes.restart(
      state,
      allowed.length === 1 ? allowed[0].entries.join() : JSON.stringify(allowed),
    );
    if (restarted === undefined) continue;
    const machine = state.model === "kill" ? stage.machine : new Machine();
    machine.endAll();
    const next = new Stage(restarted, stage.variant, { machine, allowed });
    const before = restarted.position;
    await crashes.check(state, async (variant) => {
      await recoverStore(next, variant);
      if (nested && crashes.nests()) await exploreStore(next, crashes, { from: before, nested: false, sampled: true });
    });
  }
}
