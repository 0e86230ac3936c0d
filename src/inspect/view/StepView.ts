import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { RequestView } from "./RequestView.ts";
import type { RollbackView } from "./RollbackView.ts";
import type { RunView } from "./AgentView.ts";
import type { Damage, ShownValue, UsageView, LaneView, LineView, NotedFileChange } from "./viewParts.ts";

/** The fields that all steps have. */
interface StepBase {
  /** The order of the steps. It stays the same until the log is pruned. */
  readonly order: number;
  /** The position of the append that ends the step, or of the first append of an unfinished step. */
  readonly position: number;
  readonly generation: number;
  /** In ISO 8601. Omitted if the log does not contain the time. */
  readonly at?: string;
}

export interface AnswerView {
  readonly position: number;
  readonly message: ShownValue;
  /** The model in the settings. `undefined` if the settings name no model, as with other runtimes. */
  readonly model?: string;
  readonly finish?: string;
  readonly usage?: UsageView;
  /** The failed requests before the response, oldest first. */
  readonly failures: readonly { readonly name: string; readonly message: string; readonly code?: string }[];
  /** The id of the tool call that made the request. Omitted if the node made it. */
  readonly within?: string;
}

export interface ChangesView {
  readonly messages: {
    readonly added: readonly {
      readonly number: number;
      readonly message: ShownValue;
      /** The number of the message after the inserted one. Omitted for a message at the end. */
      readonly before?: number;
    }[];
    /** The first and last number of removed messages, inclusive. */
    readonly removed: readonly (readonly [first: number, last: number])[];
  };
  readonly storage: {
    readonly set: Readonly<Record<string, ShownValue>>;
    readonly deleted: readonly string[];
  };
  /** The new settings. Omitted if unchanged. */
  readonly settings?: { readonly model: string; readonly parameters?: ShownValue; readonly tools: readonly string[] };
  readonly decisions: readonly { readonly decision: string; readonly reason?: string; readonly at: string }[];
}

/** A node execution. It has ended with a checkpoint, is running or waiting, or was interrupted. */
export interface VisitStep extends StepBase {
  readonly kind: "visit";
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  readonly node: string;
  /** `cut` if the execution has no final checkpoint and the agent does not run it now. */
  readonly state: "ended" | "running" | "waiting" | "cut";
  /** The time of the previous checkpoint, in ISO 8601. */
  readonly startedAt?: string;
  /** The id of the previous checkpoint. */
  readonly fromId?: string;
  /** The checkpoint that ends the execution. Omitted for an unfinished execution. */
  readonly checkpoint?: CheckpointView;
  /** The input of the next node, or the output of the run. Omitted for an unfinished execution. */
  readonly output?: ShownValue;
  readonly answers: readonly AnswerView[];
  readonly calls: readonly CallView[];
  readonly requests: readonly RequestView[];
  readonly files: readonly NotedFileChange[];
  readonly changes: ChangesView;
}

export interface BeginStep extends StepBase {
  readonly kind: "begin";
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  readonly checkpoint: CheckpointView;
  /** The input of the first node. */
  readonly output: ShownValue;
  readonly changes: ChangesView;
}

/** A move of the agent by a rollback, an execution point, a branch, a fork, an edit or a migration. */
export interface MoveStep extends StepBase {
  readonly kind: "move";
  readonly move: NonNullable<CheckpointView["move"]>;
  readonly lane: number;
  readonly line: LineView;
  /** The id of the abandoned head. Omitted if unknown or if the agent had no head. */
  readonly leftId?: string;
  readonly checkpoint: CheckpointView;
  readonly changes: ChangesView;
  /** The ids of calls after the target whose effects remain, because `setExecutionPoint` reverts no effects. */
  readonly standing: readonly string[];
}

/** The start of a rollback, with the current state of the calls that it reverts. */
export interface RollbackStep extends StepBase {
  readonly kind: "rollback";
  readonly rollback: RollbackView;
}

export interface RunStep extends StepBase {
  readonly kind: "run";
  readonly run: RunView;
}

/** A status change without a checkpoint, for example when a run fails, pauses, waits, is queued or continues. */
export interface StatusStep extends StepBase {
  readonly kind: "status";
  readonly runId: string;
  readonly status: "queued" | "in_progress" | "failed" | "paused" | "waiting";
  readonly reason?: string;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string };
}

export interface OwnerStep extends StepBase {
  readonly kind: "owner";
  /** The generation of the previous owner. */
  readonly before: number;
  /** Whether the previous owner crashed, was aborted or stopped responding during a run or a rollback. */
  readonly tookOver: boolean;
}

/** A change of the log itself by a fork, a move or a pruning. */
export interface LogStep extends StepBase {
  readonly kind: "log";
  readonly what: "forked" | "here" | "moving" | "moved" | "copied" | "pruned";
  readonly agentId?: string;
}

export type StepView = VisitStep | BeginStep | MoveStep | RollbackStep | RunStep | StatusStep | OwnerStep | LogStep;

export interface StepsPage {
  readonly steps: readonly StepView[];
  /** The lanes of the steps, the lanes from which they start, and the lanes that contain them. */
  readonly lanes: readonly LaneView[];
  /** The first `order` on this page. Pass it as `before` for the previous page. Omitted on the first page. */
  readonly before?: number;
  /** The last `order` on this page. Pass it as `after` for the next page. Omitted on the last page. */
  readonly after?: number;
  /** The position of the last append that was read. */
  readonly position: number;
  readonly damage: readonly Damage[];
}
