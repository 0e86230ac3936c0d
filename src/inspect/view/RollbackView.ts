/** A rollback that was begun: what it takes back, and how far it got. */
export interface RollbackView {
  /** The checkpoint that it goes back to. Absent: it was pruned. */
  readonly targetId?: string;
  /** The checkpoint that it left. Absent: unknown. */
  readonly fromId?: string;
  /** Only of a redo: the common ancestor of the checkpoint that it left and the one that it goes to. */
  readonly commonAncestorId?: string;
  readonly state: "open" | "done";
  /** The checkpoint that it ended with. Absent: it has not ended. */
  readonly checkpointId?: string;
  /** In the order in which they are reverted. */
  readonly calls: readonly {
    readonly toolCallId: string;
    readonly tool: string;
    /** `pending`: its turn has not come. `in_doubt`: its inverse began and has no recorded end. `left`: it was decided to leave it. */
    readonly state: "pending" | "reverted" | "failed" | "in_doubt" | "left";
    readonly error?: string;
  }[];
  /** Calls after the target whose effects stay because nothing takes them back. */
  readonly staying: readonly { readonly toolCallId: string; readonly tool: string }[];
  /** What participants such as a workspace do. */
  readonly participants: readonly {
    readonly key: string;
    /** How many steps were applied. */
    readonly applied: number;
    /** What could not be applied. */
    readonly errors: readonly string[];
  }[];
}
