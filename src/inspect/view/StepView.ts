import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { NotedFileChange } from "./FileChangeView.ts";
import type { LaneView, LineView } from "./LineView.ts";
import type { RequestView } from "./RequestView.ts";
import type { RollbackView } from "./RollbackView.ts";
import type { Damage, RunView } from "./AgentView.ts";
import type { ShownValue } from "./ShownValue.ts";

/** What every step has. */
interface StepBase {
  /** Orders the steps of an agent; the same at each reading, until the log is pruned. */
  readonly order: number;
  /** Of the append that ends it, or of its first one while it has not ended. */
  readonly position: number;
  readonly generation: number;
  /** ISO 8601. Absent: the log does not say. */
  readonly at?: string;
}

/** What a model answered. */
export interface AnswerView {
  readonly position: number;
  readonly message: ShownValue;
  /** The model that the settings name at this point. `undefined` if they name none, as in other runtimes. */
  readonly model?: string;
  readonly finish?: string;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly totalTokens?: number;
  };
  /** Requests that failed before it, oldest first. */
  readonly failures: readonly { readonly name: string; readonly message: string; readonly code?: string }[];
  /** The call that asked the model. Absent: the node did. */
  readonly within?: string;
}

/** What a step changed of the state, beside its parent's. */
export interface ChangesView {
  readonly messages: {
    readonly added: readonly {
      readonly number: number;
      readonly message: ShownValue;
      /** It was put before the message of this number. Absent: at the end. */
      readonly before?: number;
    }[];
    /** First and last number, inclusive. */
    readonly removed: readonly (readonly [first: number, last: number])[];
  };
  readonly storage: {
    readonly set: Readonly<Record<string, ShownValue>>;
    readonly deleted: readonly string[];
  };
  /** Absent: they are as before. */
  readonly settings?: { readonly model: string; readonly parameters?: ShownValue; readonly tools: readonly string[] };
  readonly decisions: readonly { readonly decision: string; readonly reason?: string; readonly at: string }[];
}

/** A node ran, up to a checkpoint; or it runs, waits or was cut off. */
export interface VisitStep extends StepBase {
  readonly kind: "visit";
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  /** The node that ran. */
  readonly node: string;
  /** `cut`: it has no checkpoint, and the agent does not run it now. */
  readonly state: "ended" | "running" | "waiting" | "cut";
  /** ISO 8601: when the checkpoint before it was made. */
  readonly startedAt?: string;
  /** The checkpoint before it. */
  readonly fromId?: string;
  /** The checkpoint that it ended with. Absent: it has not ended. */
  readonly checkpoint?: CheckpointView;
  /** The input of the node that runs next; at the end its output. Absent: it has not ended. */
  readonly output?: ShownValue;
  readonly answers: readonly AnswerView[];
  readonly calls: readonly CallView[];
  readonly requests: readonly RequestView[];
  readonly files: readonly NotedFileChange[];
  readonly changes: ChangesView;
}

/** A line begins: a run, a branch or a sub-agent. Its first node runs next. */
export interface BeginStep extends StepBase {
  readonly kind: "begin";
  readonly runId: string;
  readonly lane: number;
  readonly line: LineView;
  readonly checkpoint: CheckpointView;
  /** What the first node gets. */
  readonly output: ShownValue;
  readonly changes: ChangesView;
}

/** The agent was brought to another point: by a rollback, an execution point, a branch, a fork, an edit or a migration. */
export interface MoveStep extends StepBase {
  readonly kind: "move";
  readonly move: NonNullable<CheckpointView["move"]>;
  readonly lane: number;
  readonly line: LineView;
  /** The head that was left. Absent: unknown, or it had none. */
  readonly leftId?: string;
  readonly checkpoint: CheckpointView;
  readonly changes: ChangesView;
  /** Calls since, whose effects an execution point left standing. */
  readonly standing: readonly string[];
}

/** A rollback began. What became of its calls is as it is now. */
export interface RollbackStep extends StepBase {
  readonly kind: "rollback";
  readonly rollback: RollbackView;
}

/** A run was requested. */
export interface RunStep extends StepBase {
  readonly kind: "run";
  readonly run: RunView;
}

/** The status changed without a checkpoint: the run failed, pauses, waits, was queued or goes on. */
export interface StatusStep extends StepBase {
  readonly kind: "status";
  readonly runId: string;
  readonly status: "queued" | "in_progress" | "failed" | "paused" | "waiting";
  readonly reason?: string;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string };
}

/** Another owner writes from here on. */
export interface OwnerStep extends StepBase {
  readonly kind: "owner";
  /** The generation before. */
  readonly before: number;
  /** The owner before ended in the middle of a run or a rollback: it was killed, aborted or silent. */
  readonly tookOver: boolean;
}

/** The log itself changed: it is a fork, was moved, or was pruned. */
export interface LogStep extends StepBase {
  readonly kind: "log";
  readonly what: "forked" | "here" | "moving" | "moved" | "copied" | "pruned";
  readonly agentId?: string;
}

/** One thing that happened, as a timeline shows it. */
export type StepView = VisitStep | BeginStep | MoveStep | RollbackStep | RunStep | StatusStep | OwnerStep | LogStep;

/** A page of steps, oldest first. */
export interface StepsPage {
  readonly steps: readonly StepView[];
  /** The lanes that its steps are on, and those that these begin from or are nested in. */
  readonly lanes: readonly LaneView[];
  /** Give it as `before` to get those before. Absent: there are none. */
  readonly before?: number;
  /** Give it as `after` to get those after. Absent: there are none now. */
  readonly after?: number;
  /** The position up to which the log was read. */
  readonly position: number;
  readonly damage: readonly Damage[];
}
