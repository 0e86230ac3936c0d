import type { AnyState } from "../wrapped/AnyAgent.ts";

/** The run that made a state. */
export interface StatedRun {
  readonly agentId: string;
  readonly runId: string;
}

const runs = new WeakMap<AnyState, StatedRun>();

export function noteRun(state: AnyState, { agentId, runId }: StatedRun): void {
  runs.set(state, { agentId, runId });
}

/** Returns the run that made a state in this process. `undefined` for a state that was read from its text. */
export function runOfState(state: AnyState): StatedRun | undefined {
  return runs.get(state);
}
