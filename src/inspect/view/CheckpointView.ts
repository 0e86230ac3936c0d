import type { CallView } from "./CallView.ts";
import type { Damage, ShownValue, UsageView, LineView, FileChangeView } from "./viewParts.ts";

/** A message with its number. A message has the same number in all checkpoints. */
export interface MessageView {
  readonly number: number;
  readonly message: ShownValue;
}

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
  /** The index of the first message. Pass it as `messagesBefore` for the previous page. Omitted on the first page. */
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
  /** The requirements that a recovery checks before the run is resumed. */
  readonly requires: { readonly files: readonly string[]; readonly environment: Readonly<Record<string, string>> };
  /** The calls since the previous checkpoint. */
  readonly calls: readonly CallView[];
  /** The files that changed since the previous checkpoint, each once. */
  readonly files: readonly FileChangeView[];
}

export interface ChangedValue {
  /** The earlier value. Omitted if the value was added. */
  readonly before?: ShownValue;
  /** The later value. Omitted if the value was removed. */
  readonly after?: ShownValue;
}

export interface CheckpointDifference {
  readonly from: CheckpointView;
  readonly to: CheckpointView;
  readonly messages: {
    /** The number of messages in both checkpoints. */
    readonly kept: number;
    readonly removed: readonly MessageView[];
    readonly added: readonly MessageView[];
  };
  /** The changed input of the next node. Omitted if equal. */
  readonly input?: ChangedValue;
  readonly storage: Readonly<Record<string, ChangedValue>>;
  /** The changed values among `model`, `parameters` and `tools`. */
  readonly settings: Readonly<Record<string, ChangedValue>>;
  readonly files: readonly FileChangeView[];
}

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
  /** The id of the previous checkpoint. Omitted for the first checkpoint, or if the previous one was pruned. */
  readonly parentId?: string;
  /** The ids of the last checkpoints of the joined branches. Omitted if the checkpoint does not join branches. */
  readonly otherParentIds?: readonly string[];
  /** The node that runs next, or `finish` at the end of a run. */
  readonly node: string;
  readonly iteration: number;
  readonly status: "in_progress" | "completed" | "cancelled";
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** The trigger of the checkpoint, or `asked_for` for `createCheckpoint`. Omitted after a node, a move or a run. */
  readonly trigger?: string;
  /** The person or system that made an edit, as the caller named it. `reason` also explains a cancellation. */
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

/** A page of checkpoints, oldest first. Each names its parent, so that they form a tree. */
export interface CheckpointsPage {
  readonly checkpoints: readonly CheckpointView[];
  /** The first version on this page. Pass it as `before` for the previous page. Omitted on the first page. */
  readonly before?: number;
  /** The last version on this page. Pass it as `after` for the next page. Omitted on the last page. */
  readonly after?: number;
  /** The number of checkpoints on all pages. */
  readonly total: number;
  readonly damage: readonly Damage[];
}
