import type { BranchResult } from "../feature/BranchResult.ts";
import type { RunState } from "../state/RunState.ts";

/** Adds up what branches decided, require and completed. What they stored is up to the merge. */
export function addUp(state: RunState, branches: Iterable<BranchResult>): void {
  for (const { decisions, requirements, iterations } of branches) {
    for (const decision of decisions) state.recordDecision(decision);
    const { files = [], environment = {} } = requirements;
    state.require({ files, environment });
    state.iteration += iterations;
  }
}
