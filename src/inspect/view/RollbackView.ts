import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { FileChangeView } from "./viewParts.ts";

/** The predicted effects of a rollback, based on the log. The code decides which inverses are currently available. */
export interface RollbackPreview {
  readonly target: CheckpointView;
  /** For a redo to a checkpoint on an abandoned branch, its common ancestor with the current checkpoint. */
  readonly commonAncestorId?: string;
  /** The calls that were recorded with an inverse. They would be reverted in this order, newest first. */
  readonly revert: readonly CallView[];
  /** The calls that an interrupted rollback to the same checkpoint already reverted. */
  readonly reverted: readonly CallView[];
  /** The calls without an inverse, whose effects would remain. */
  readonly irreversible: readonly CallView[];
  /** The calls that possibly took effect and must be settled first. */
  readonly inDoubt: readonly CallView[];
  /** The skipped calls. They moved the run, wait for an answer, or belong to the original agent of a fork. */
  readonly skipped: readonly CallView[];
  /** For a redo, the calls up to the target that an earlier rollback reverted. They are not repeated. */
  readonly stayedReverted: readonly CallView[];
  /** The file changes of the rollback, assuming that the agent has its workspace and no other changes. */
  readonly files: readonly FileChangeView[];
  /** The checkpoints that would be abandoned. */
  readonly leaves: readonly string[];
  /** The finished runs that would be reopened. */
  readonly reopens: readonly string[];
  /** The target of an unfinished rollback that would be completed first. Omitted without an unfinished rollback. */
  readonly openRollbackTo?: string;
}

/** A rollback with its progress. */
export interface RollbackView {
  /** The target checkpoint. Omitted if it was pruned. */
  readonly targetId?: string;
  /** The checkpoint before the rollback. Omitted if unknown. */
  readonly fromId?: string;
  /** For a redo, the common ancestor of the previous and the target checkpoint. */
  readonly commonAncestorId?: string;
  readonly state: "open" | "done";
  /** The resulting checkpoint. Omitted for an unfinished rollback. */
  readonly checkpointId?: string;
  /** In the order of their reversal. */
  readonly calls: readonly {
    readonly toolCallId: string;
    readonly tool: string;
    /**
     * `pending` if the call was not processed yet, `in_doubt` if its inverse started without a recorded outcome, `left`
     * if a decision kept its effect.
     */
    readonly state: "pending" | "reverted" | "failed" | "in_doubt" | "left";
    readonly error?: string;
  }[];
  /** The calls after the target whose effects remain. */
  readonly staying: readonly { readonly toolCallId: string; readonly tool: string }[];
  /** The work of participants such as a workspace. */
  readonly participants: readonly {
    readonly key: string;
    /** The number of applied steps. */
    readonly applied: number;
    /** The errors of steps that could not be applied. */
    readonly errors: readonly string[];
  }[];
}
