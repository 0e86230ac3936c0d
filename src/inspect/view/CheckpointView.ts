import type { LineView } from "./LineView.ts";

/** A checkpoint without its content. */
export interface CheckpointView {
  readonly checkpointId: string;
  readonly name?: string;
  readonly version: number;
  readonly position: number;
  readonly generation: number;
  /** ISO 8601. */
  readonly at: string;
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  /** The checkpoint that it follows. Absent: it is the first, or that one was pruned. */
  readonly parentId?: string;
  /** The last checkpoints of the branches that were joined here. Absent: none were. */
  readonly otherParentIds?: readonly string[];
  /** The node that runs next; `finish` at the end of a run. */
  readonly node: string;
  readonly iteration: number;
  readonly status: "in_progress" | "completed" | "cancelled";
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** Why it was made: `asked_for`, or the name of a trigger. Absent: by a step, a move or a run. */
  readonly trigger?: string;
  /** Who edited, and why an edit or a cancellation was made, as the caller said. */
  readonly by?: string;
  readonly reason?: string;
  /** 0 to 100. */
  readonly progress?: number;
  readonly summary?: string;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly totalTokens?: number;
  };
  /** The agent goes on from it. */
  readonly isHead: boolean;
  /** It does not lead to a head: a rollback or another move went on elsewhere. */
  readonly isLeft: boolean;
}

/** A page of checkpoints, oldest first. Each names its parent, so that they are a tree. */
export interface CheckpointsPage {
  readonly checkpoints: readonly CheckpointView[];
  /** Give it as `before` to get those before. Absent: there are none. */
  readonly before?: number;
  /** Give it as `after` to get those after. Absent: there are none. */
  readonly after?: number;
  /** How many there are in all. */
  readonly total: number;
}
