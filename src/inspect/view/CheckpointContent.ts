import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { FileChangeView } from "./FileChangeView.ts";
import type { ShownValue } from "./ShownValue.ts";

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
