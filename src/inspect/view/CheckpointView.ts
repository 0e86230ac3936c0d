import type { CallView } from "./CallView.ts";
import type { ShownValue, UsageView, LineView, FileChangeView } from "./viewParts.ts";

/** A message with its number, which is the same in all checkpoints. */
export interface MessageView {
  readonly number: number;
  readonly message: ShownValue;
}

/** The content of a checkpoint. */
export interface CheckpointContent {
  readonly checkpoint: CheckpointView;
  /** The input of the run. Omitted if unknown. */
  readonly runInput?: ShownValue;
  /** The input of the node that runs next, or the output of a finished run. */
  readonly input: ShownValue;
  readonly inputType?: string;
  /** A page of the history, oldest first. Defaults to the last 200 messages. */
  readonly messages: readonly MessageView[];
  readonly messageCount: number;
  /** Pass this as `messagesBefore` for the previous page. Omitted on the first page. */
  readonly messagesBefore?: number;
  readonly storage: Readonly<Record<string, ShownValue>>;
  readonly model?: string;
  readonly parameters?: ShownValue;
  readonly tools: readonly string[];
  readonly decisions: readonly {
    readonly decision: string;
    readonly reason?: string;
    readonly at: string;
    readonly node: string;
  }[];
  /** The requirements that a recovery checks. */
  readonly requires: { readonly files: readonly string[]; readonly environment: Readonly<Record<string, string>> };
  /** The calls since the parent. */
  readonly calls: readonly CallView[];
  /** The changed files since the parent, once per path. */
  readonly files: readonly FileChangeView[];
}

/** A changed value. */
export interface ChangedValue {
  /** The earlier value. Omitted if the value was added. */
  readonly before?: ShownValue;
  /** The later value. Omitted if the value was removed. */
  readonly after?: ShownValue;
}

/** The difference between two checkpoints. */
export interface CheckpointDifference {
  readonly from: CheckpointView;
  readonly to: CheckpointView;
  readonly messages: {
    /** The number of common messages. */
    readonly kept: number;
    readonly removed: readonly MessageView[];
    readonly added: readonly MessageView[];
  };
  /** Omitted if equal. */
  readonly input?: ChangedValue;
  readonly storage: Readonly<Record<string, ChangedValue>>;
  /** The changed values among `model`, `parameters` and `tools`. */
  readonly settings: Readonly<Record<string, ChangedValue>>;
  readonly files: readonly FileChangeView[];
}

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
  readonly usage?: UsageView;
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
