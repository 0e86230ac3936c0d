import type { RunMoved } from "../../agent/context/RunMoved.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { ParticipantReport } from "./participants.ts";

/** What a rollback did. Every list is in the order of the rollback, newest call first. */
export interface RollbackReport extends RunMoved {
  /** The checkpoint that was gone back to. */
  readonly checkpointId: string;
  /** Calls whose inverse has run. */
  readonly reverted: readonly RevertibleCall[];
  /** Calls whose inverse failed or is itself in doubt, and calls that began and whose outcome is unknown. Their effects may stand. */
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
  /** Calls that succeeded and have no inverse. Their effects stand. */
  readonly irreversible: readonly RevertibleCall[];
  /** Calls that were left as they are: those that asked for the move or wait for an answer, or all, when only messages went back. */
  readonly skipped: readonly RevertibleCall[];
  /** What participants took back, such as files; those without anything to take back are not listed. */
  readonly participants: readonly ParticipantReport[];
}

/** A recorded call as reports show it. */
export function revertibleCall(call: LoggedCall): RevertibleCall {
  return { toolCallId: call.call, toolName: call.tool, input: call.input(), output: call.output() };
}
