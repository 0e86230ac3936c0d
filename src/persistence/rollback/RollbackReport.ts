import type { RunMoved } from "../../agent/context/RunMoved.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type LoggedCall, read } from "../../journal/loggedCalls.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** A rollback to carry out. */
export interface Rollback extends RollbackGoal {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** The whole log, read after everything in flight has ended. */
  readonly log: AgentLog;
  readonly signal: AbortSignal;
  /** What to do about a call or step that cannot be reverted. Default `stop`. */
  readonly onFailure?: OnRevertFailure | undefined;
}

/**
 * `stop`: the rollback rejects with RollbackIncompleteError and stays open. `leave`: the effect remains, the report says so,
 * and the rollback continues.
 */
export type OnRevertFailure = "stop" | "leave";

/** What a rollback did. Every list is in the order of the rollback, newest call first. */
export interface RollbackReport extends RunMoved {
  /** The checkpoint that the agent was rolled back to. */
  readonly checkpointId: string;
  /**
   * Only of a redo, which is a rollback to a checkpoint on a branch that was left: the common ancestor of that checkpoint and the one
   * that the agent was at. Messages, state and files are those of the target again.
   */
  readonly commonAncestorId?: string;
  /** Calls whose inverse has run. */
  readonly reverted: readonly RevertibleCall[];
  /** Calls whose inverse failed or is in doubt, and calls that began and whose outcome is unknown. Their effects may remain. */
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
  /** Calls that succeeded and have no inverse. Their effects remain. */
  readonly irreversible: readonly RevertibleCall[];
  /**
   * Calls that were not reverted: those that asked for the move or wait for an answer; those of the agent that this one is a
   * fork of, with its id as `owner`; all, if only messages were rolled back.
   */
  readonly skipped: readonly RevertibleCall[];
  /**
   * Of a redo: calls on the way from the common ancestor to the target that an earlier rollback reverted. Their effects are gone, although
   * the messages show their results. They are not made again. Empty for every other rollback.
   */
  readonly stayedReverted: readonly RevertibleCall[];
  /** What participants reverted or, in a redo, restored, such as files. A participant without anything to do is not listed. */
  readonly participants: readonly ParticipantReport[];
}

/** What a participant did in a rollback. */
export interface ParticipantReport {
  readonly key: string;
  /** In the order in which they were applied; what could not be applied says so. */
  readonly steps: readonly DescribedStep[];
}

/** A recorded call as reports show it: a value that cannot be read does not keep the others from being shown. */
export function revertibleCall(call: LoggedCall): RevertibleCall {
  const input = read(call.input);
  const output = read(call.output);
  const { unreadable } = { ...input, ...output };
  const made = { toolCallId: call.call, toolName: call.tool, input: input.value, output: output.value };
  const shown = call.owner === undefined ? made : { ...made, owner: call.owner };
  return unreadable === undefined ? shown : { ...shown, unreadable };
}
