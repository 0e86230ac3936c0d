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
