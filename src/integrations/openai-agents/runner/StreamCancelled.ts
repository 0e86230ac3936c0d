import type { AnyStream } from "../wrapped/AnyAgent.ts";

/** Stops a run whose stream was cancelled. The run stays resumable. */
export class StreamCancelled extends Error {
  override readonly name = "AbortError";

  constructor() {
    super("The reader of the stream cancelled it. Call resume(agent, { agentId }) to continue the run.");
  }
}

/** Returns whether a cancelled stream ended before the final output of its loop. */
export function isStopped({ cancelled, state, interruptions }: AnyStream): boolean {
  return cancelled && interruptions.length === 0 && state._currentStep?.type !== "next_step_final_output";
}
