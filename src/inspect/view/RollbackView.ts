import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { FileChangeView } from "./viewParts.ts";

/** The predicted effects of a rollback, based on the log. The current code may have other inverses. */
export interface RollbackPreview {
  readonly target: CheckpointView;
  /** For a redo to an abandoned branch, the common ancestor of the target and the current checkpoint. */
  readonly commonAncestorId?: string;
  /** The calls with a recorded inverse, newest first. The rollback reverts them in this order. */
  readonly revert: readonly CallView[];
  /** The calls that an interrupted rollback to the same checkpoint already reverted. */
  readonly reverted: readonly CallView[];
  /** The calls without an inverse, whose effects remain. */
  readonly irreversible: readonly CallView[];
  /** The calls in doubt, which must be settled first. */
  readonly inDoubt: readonly CallView[];
  /** The calls that moved the run, wait for an answer, or belong to the original agent of a fork. */
  readonly skipped: readonly CallView[];
  /** For a redo, the calls up to the target that an earlier rollback reverted. The redo does not repeat them. */
  readonly stayedReverted: readonly CallView[];
  /** The file changes of the rollback, if the agent has its workspace and no other file was changed. */
  readonly files: readonly FileChangeView[];
  /** The ids of the checkpoints that the rollback abandons. */
  readonly leaves: readonly string[];
  /** The ids of the finished runs that become unfinished. */
  readonly reopens: readonly string[];
  /** The target of an unfinished rollback, which is completed first. Omitted without an unfinished rollback. */
  readonly openRollbackTo?: string;
}

export interface RollbackView {
  /** The id of the target checkpoint. Omitted if it was pruned. */
  readonly targetId?: string;
  /** The id of the head before the rollback. Omitted if unknown. */
  readonly fromId?: string;
  /** For a redo, the common ancestor of the target and the head before the rollback. */
  readonly commonAncestorId?: string;
  readonly state: "open" | "done";
  /** The id of the checkpoint that ended the rollback. Omitted for an unfinished rollback. */
  readonly checkpointId?: string;
  /** The calls to revert, in this order. */
  readonly calls: readonly {
    readonly toolCallId: string;
    readonly tool: string;
    /** `pending`: not reverted yet. `in_doubt`: its inverse has no outcome. `left`: a decision kept the effect. */
    readonly state: "pending" | "reverted" | "failed" | "in_doubt" | "left";
    readonly error?: string;
  }[];
  /** The calls after the target whose effects remain. */
  readonly staying: readonly { readonly toolCallId: string; readonly tool: string }[];
  /** The progress of participants, such as a workspace. */
  readonly participants: readonly {
    readonly key: string;
    readonly applied: number;
    readonly errors: readonly string[];
  }[];
}
