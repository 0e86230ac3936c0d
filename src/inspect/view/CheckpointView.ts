import type { LineView } from "./LineView.ts";

/** A checkpoint without its content. */
export interface CheckpointView {
  readonly checkpointId: string;
  readonly name?: string;
  readonly version: number;
  readonly position: number;
  readonly generation: number;
  /** In ISO 8601. */
  readonly at: string;
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  /** The previous checkpoint. Omitted for the first checkpoint, or if the parent was pruned. */
  readonly parentId?: string;
  /** The last checkpoints of the joined branches. Omitted if the checkpoint does not join branches. */
  readonly otherParentIds?: readonly string[];
  /** The node that runs next, or `finish` at the end of a run. */
  readonly node: string;
  readonly iteration: number;
  readonly status: "in_progress" | "completed" | "cancelled";
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** The trigger of the checkpoint, or `asked_for`. Omitted for checkpoints of steps, moves and runs. */
  readonly trigger?: string;
  /** The person or system that made an edit, as given by the caller. `reason` also explains a cancellation. */
  readonly by?: string;
  readonly reason?: string;
  /** From 0 to 100. */
  readonly progress?: number;
  readonly summary?: string;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly totalTokens?: number;
  };
  /** Whether the agent continues from this checkpoint. */
  readonly isHead: boolean;
  /** Whether a rollback or another move abandoned this checkpoint. */
  readonly isLeft: boolean;
}

/** A page of checkpoints, oldest first. Each names its parent, so they form a tree. */
export interface CheckpointsPage {
  readonly checkpoints: readonly CheckpointView[];
  /** Pass this as `before` for the previous page. Omitted on the first page. */
  readonly before?: number;
  /** Pass this as `after` for the next page. Omitted on the last page. */
  readonly after?: number;
  /** The total number of checkpoints. */
  readonly total: number;
}
