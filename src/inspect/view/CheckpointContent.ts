import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { FileChangeView } from "./FileChangeView.ts";
import type { ShownValue } from "./ShownValue.ts";

/** A message by its number: the same message has the same number in every checkpoint. */
export interface MessageView {
  readonly number: number;
  readonly message: ShownValue;
}

/** What a checkpoint holds. */
export interface CheckpointContent {
  readonly checkpoint: CheckpointView;
  /** What the run was given. Absent: unknown. */
  readonly runInput?: ShownValue;
  /** What the node that runs next gets; at the end of a run its output. */
  readonly input: ShownValue;
  readonly inputType?: string;
  /** A page of the history, oldest first: by default its last 200. */
  readonly messages: readonly MessageView[];
  readonly messageCount: number;
  /** Give it as `messagesBefore` to get those before. Absent: there are none. */
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
  /** What a recovery checks. */
  readonly requires: { readonly files: readonly string[]; readonly environment: Readonly<Record<string, string>> };
  /** Since the parent. */
  readonly calls: readonly CallView[];
  /** Since the parent, each path once. */
  readonly files: readonly FileChangeView[];
}

/** A value that differs. */
export interface ChangedValue {
  /** Absent: it was not there. */
  readonly before?: ShownValue;
  /** Absent: it is not there. */
  readonly after?: ShownValue;
}

/** What differs between two checkpoints. */
export interface CheckpointDifference {
  readonly from: CheckpointView;
  readonly to: CheckpointView;
  readonly messages: {
    /** In both. */
    readonly kept: number;
    readonly removed: readonly MessageView[];
    readonly added: readonly MessageView[];
  };
  /** Absent: it is the same. */
  readonly input?: ChangedValue;
  readonly storage: Readonly<Record<string, ChangedValue>>;
  /** Of `model`, `parameters` and `tools` those that differ. */
  readonly settings: Readonly<Record<string, ChangedValue>>;
  readonly files: readonly FileChangeView[];
}
