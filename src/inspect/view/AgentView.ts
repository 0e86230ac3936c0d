import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { RequestView } from "./RequestView.ts";
import type { RollbackView } from "./RollbackView.ts";
import type { Damage, Problem, ShownValue, UsageView } from "./viewParts.ts";

/** All statuses of agents except `unknown`. */
export const agentStatuses = [
  "queued",
  "in_progress",
  "paused",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "moving",
  "moved",
  "copied",
  "unreadable",
] as const;

/**
 * The status of an agent. An agent that is `moving`, `moved` or `copied` must not run in this storage. `unreadable`
 * means a damaged log, and `unknown` a log without a status.
 */
export type AgentStatus = (typeof agentStatuses)[number] | "unknown";

/** The kind of a log. For kinds other than `agent`, such as `thread` or `session`, only the records are shown. */
export type LogShape = "agent" | (string & {});

export interface ListedAgent {
  readonly agentId: string;
  readonly shape: LogShape;
  readonly status: AgentStatus;
  /** An error, the reason of a pause or a cancellation, or the prompt of a request. Omitted if unknown. */
  readonly reason?: string;
  /** Explains why an agent in progress is stuck. Requires `explain`. Omitted if a process runs the agent. */
  readonly stuck?: {
    /** `gone` if the owner's process exited, `silent` if it stopped renewing its lease, `none` without an owner. */
    readonly owner: "gone" | "silent" | "none";
    /** The number of calls in doubt that need a decision. A resume repeats other calls, such as idempotent ones. */
    readonly inDoubt: number;
    readonly openRollback: boolean;
  };
  readonly problem?: Problem;
  /** In ISO 8601. Omitted if unknown, for example for an unreadable agent. */
  readonly createdAt?: string;
  /** When the status changed, or with `explain` the newest checkpoint of an agent in progress. Omitted if unknown. */
  readonly updatedAt?: string;
  /** When the agent is due, for example the end of a wait, in ISO 8601. Omitted if the agent is not due. */
  readonly dueAt?: string;
  readonly runId?: string;
  readonly taskName?: string;
  readonly priority?: number;
  readonly requestIds: readonly string[];
  /** With `explain`, the number of checkpoints. Without `explain`, the maximum number at the last status change. */
  readonly checkpoints?: number;
  /** The position in the list. Pass it as `after` to list the following agents. */
  readonly cursor: string;
}

export interface OwnerView {
  readonly host: string;
  readonly processId: number;
  readonly generation: number;
  /** `gone` if the process exited, `silent` if the owner stopped renewing its lease. */
  readonly state: "alive" | "gone" | "silent";
}

/** A past or current owner, which wrote all appends with one generation. */
export interface OwnershipView {
  readonly generation: number;
  /** The position of the owner's first append. */
  readonly position: number;
  /** The position of the owner's last append. */
  readonly lastPosition: number;
  /** The first time in the owner's records, in ISO 8601. Omitted if the records contain no time. */
  readonly at?: string;
  /** Whether the previous owner crashed, was aborted or stopped responding during a run or a rollback. */
  readonly tookOver: boolean;
}

export interface RunView {
  readonly runId: string;
  /** When the run was requested, in ISO 8601. */
  readonly startedAt: string;
  readonly input: ShownValue;
  readonly status: "open" | "completed" | "cancelled";
  /** The id of the final checkpoint. Omitted if the run is unfinished or the checkpoint was pruned. */
  readonly endId?: string;
  readonly position: number;
}

/** An agent without its steps. */
export interface AgentView {
  readonly agentId: string;
  readonly shape: LogShape;
  readonly status: AgentStatus;
  readonly reason?: string;
  /** The data of the status as JSON, as described in {@link StateData}. Omitted if unknown. */
  readonly statusData?: ShownValue;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The original agent, and the position at which the fork was made. Omitted if the agent is not a fork. */
  readonly forkOf?: { readonly agentId: string; readonly position: number };
  /** The new location. Omitted if the agent was not moved. */
  readonly movedTo?: { readonly agentId: string; readonly folder?: string };
  readonly task?: {
    readonly name: string;
    readonly priority: number;
    readonly retries: number;
    readonly attempts: number;
  };
  /** The newest checkpoint of the run. Omitted if the run has no checkpoint. */
  readonly head?: CheckpointView;
  /** The ids of the newest checkpoints of the run and of all open branches and sub-agents. */
  readonly headIds: readonly string[];
  readonly model?: string;
  /** The token usage of the last run. Omitted if unknown. */
  readonly usage?: UsageView;
  readonly runs: readonly RunView[];
  readonly requests: readonly RequestView[];
  /** The calls in doubt, which possibly took effect. */
  readonly inDoubt: readonly CallView[];
  readonly openRollback?: RollbackView;
  /** The current owner. Omitted if the agent has no owner. */
  readonly owner?: OwnerView;
  readonly ownerships: readonly OwnershipView[];
  readonly counts: {
    readonly entries: number;
    readonly checkpoints: number;
    readonly runs: number;
    readonly calls: number;
    readonly requests: number;
    readonly rollbacks: number;
    readonly owners: number;
  };
  /** The position of the last append that was read. 0 for an unknown agent. */
  readonly position: number;
  readonly damage: readonly Damage[];
}
