import type { BranchResult } from "../feature/BranchResult.ts";
import type { RunState } from "../state/RunState.ts";

/** Adds the decisions, requirements and iterations of branches to the state. The merge handles their storage. */
export function addUp(state: RunState, branches: Iterable<BranchResult>): void {
  for (const { decisions, requirements, iterations } of branches) {
    for (const decision of decisions) state.recordDecision(decision);
    const { files = [], environment = {} } = requirements;
    state.require({ files, environment });
    state.iteration += iterations;
  }
}
