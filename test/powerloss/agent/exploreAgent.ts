import { AgentStage } from "./AgentStage.ts";
import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { recoverAgent } from "./recoverAgent.ts";

/** Checks the agent after every crash that may have come since a moment of a stage. */
export async function exploreAgent(
  stage: AgentStage,
  crashes: Crashes,
  { from = 0, nested = true }: { from?: number; nested?: boolean } = {},
): Promise<void> {
  for (const state of crashes.statesOf(stage.fileSystem, from, !nested)) {
    const answered = stage.answeredUntil(state.after);
    const events = stage.world.events.filter(({ at }) => at <= state.after);
    const restarted = crashes.restart(state, `${answered} ${events.length}`);
    if (restarted === undefined) continue;
    const machine = state.model === "kill" ? stage.machine : new Machine();
    machine.endAll();
    const before = restarted.position;
    const happened = events.map((event) => ({ ...event, at: before }));
    const next = new AgentStage(restarted, stage.variant, { machine, events: happened, answered });
    await crashes.check(state, async () => {
      await recoverAgent(next, answered);
      if (nested && crashes.nests()) await exploreAgent(next, crashes, { from: before, nested: false });
    });
  }
}
