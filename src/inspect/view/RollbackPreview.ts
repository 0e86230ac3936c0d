import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { FileChangeView } from "./FileChangeView.ts";

/** What a rollback would do, as far as the log tells: which tools have an inverse now is a matter of the code. */
export interface RollbackPreview {
  readonly target: CheckpointView;
  /**
   * Only for a redo, which goes to a checkpoint on a branch that was left: the common ancestor of that checkpoint and the current one.
   */
  readonly commonAncestorId?: string;
  /** Calls that had an inverse when they were made, in the order in which they would be reverted: newest first. */
  readonly revert: readonly CallView[];
  /** Calls that an interrupted rollback to the same checkpoint has reverted. */
  readonly reverted: readonly CallView[];
  /** Calls whose effect remains: they had no inverse. */
  readonly irreversible: readonly CallView[];
  /** Calls that may or may not have had their effect. They have to be settled first. */
  readonly inDoubt: readonly CallView[];
  /** Calls that are passed over: they moved the run, wait for an answer, or are those of the agent that this one is a fork of. */
  readonly skipped: readonly CallView[];
  /**
   * Of a redo: calls on the way from the common ancestor to the target that an earlier rollback reverted. They are not made again.
   */
  readonly stayedReverted: readonly CallView[];
  /** How each file would change, if the agent has its workspace and nobody else changed the file. */
  readonly files: readonly FileChangeView[];
  /** The checkpoints that would be left. */
  readonly leaves: readonly string[];
  /** Runs that have ended and would be open again. */
  readonly reopens: readonly string[];
  /** A rollback to another checkpoint is open and would be finished first. Absent: none is. */
  readonly openRollbackTo?: string;
}
