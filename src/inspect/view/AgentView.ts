import type { CallView } from "./CallView.ts";
import type { CheckpointView } from "./CheckpointView.ts";
import type { RequestView } from "./RequestView.ts";
import type { RollbackView } from "./RollbackView.ts";
import type { Problem, ShownValue } from "./ShownValue.ts";

/** `moving`, `moved` and `copied`: it may not run here. `unreadable`: its status cannot be read. `unknown`: it has none. */
export type AgentStatus =
  | "queued"
  | "in_progress"
  | "paused"
  | "waiting"
  | "completed"
  | "failed"
  | "cancelled"
  | "moving"
  | "moved"
  | "copied"
  | "unreadable"
  | "unknown";

/** What a log is of. If it is no agent, such as a `thread` or a `session`, only its records are shown. */
export type LogShape = "agent" | (string & {});

/** An agent in a list. */
export interface ListedAgent {
  readonly agentId: string;
  readonly shape: LogShape;
  readonly status: AgentStatus;
  /** Why it is in that status, for people: the error, the reason of a pause or a cancellation, what it asks. Absent: nothing is known. */
  readonly reason?: string;
  /** Why an agent in progress makes no progress. Only with `explain`. `undefined` if a process runs it. */
  readonly stuck?: {
    /** `gone`: the owner's process has ended. `silent`: it has not renewed for a while. `none`: the agent has no owner. */
    readonly owner: "gone" | "silent" | "none";
    /** How many tool calls may or may not have had their effect. */
    readonly inDoubt: number;
    /** Whether a rollback is not finished. */
    readonly openRollback: boolean;
  };
  /** Of an agent that cannot be read. */
  readonly problem?: Problem;
  /** ISO 8601. Absent: unknown, as for an agent that cannot be read. */
  readonly createdAt?: string;
  /** ISO 8601: since when it is in that status. Absent: unknown. */
  readonly updatedAt?: string;
  /** ISO 8601: when something about it falls due, as the end of a wait. Absent: nothing does. */
  readonly dueAt?: string;
  readonly runId?: string;
  readonly taskName?: string;
  readonly priority?: number;
  /** The requests that it waits for. */
  readonly requestIds: readonly string[];
  /** How many checkpoints it has, at most. Absent: unknown. */
  readonly checkpoints?: number;
  /** Give it as `after` to list what follows. */
  readonly cursor: string;
}

/** Who runs an agent now. */
export interface OwnerView {
  readonly host: string;
  readonly processId: number;
  readonly generation: number;
  /** `gone`: its process has ended. `silent`: it has not renewed for a while. */
  readonly state: "alive" | "gone" | "silent";
}

/** One owner after another: the appends of one generation. */
export interface OwnershipView {
  readonly generation: number;
  /** Of its first append. */
  readonly position: number;
  /** Of its last append. */
  readonly lastPosition: number;
  /** ISO 8601: the first time that its records state. Absent: they state none. */
  readonly at?: string;
  /** The owner before ended in the middle of a run or a rollback: it was killed, aborted or silent. */
  readonly tookOver: boolean;
}

/** A run, from its input to its end. */
export interface RunView {
  readonly runId: string;
  /** ISO 8601: when it was requested. */
  readonly startedAt: string;
  readonly input: ShownValue;
  readonly status: "open" | "completed" | "cancelled";
  /** The checkpoint at its end. Absent: it is open, or the checkpoint was pruned. */
  readonly endId?: string;
  readonly position: number;
}

/** Damage in a log: what cannot be read, and how far the rest goes. */
export interface Damage extends Problem {
  /** What is damaged: a file or a part of the storage. Absent: the records themselves do not fit together. */
  readonly file?: string;
  readonly line?: number;
  /** The last position that was read before it; 0: none was. */
  readonly lastPosition: number;
  /** Absent: there is none before it. */
  readonly lastCheckpointId?: string;
}

/** Everything about one agent that is not a matter of one step. */
export interface AgentView {
  readonly agentId: string;
  readonly shape: LogShape;
  readonly status: AgentStatus;
  readonly reason?: string;
  /** The data of the status: what {@link StateData} says, as JSON. Absent: none is known. */
  readonly statusData?: ShownValue;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The agent that this one is a fork of. Absent: it is none. */
  readonly forkOf?: { readonly agentId: string; readonly position: number };
  /** Where it was moved to. Absent: it was not. */
  readonly movedTo?: { readonly agentId: string; readonly folder?: string };
  readonly task?: {
    readonly name: string;
    readonly priority: number;
    readonly retries: number;
    readonly attempts: number;
  };
  /** The newest checkpoint of the main line. Absent: there is none. */
  readonly head?: CheckpointView;
  /** The newest checkpoints of all lines that are open, that of the main line first. */
  readonly headIds: readonly string[];
  readonly model?: string;
  /** Tokens of the last run. Absent: unknown. */
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly totalTokens?: number;
  };
  /** The newest runs, newest last. */
  readonly runs: readonly RunView[];
  /** What it waits for. */
  readonly requests: readonly RequestView[];
  /** Calls that may or may not have had their effect. */
  readonly inDoubt: readonly CallView[];
  /** A rollback that has begun and not ended. */
  readonly openRollback?: RollbackView;
  /** Absent: nobody has it. */
  readonly owner?: OwnerView;
  /** The newest ones, newest last. */
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
  /** The position up to which the log was read; 0: there is no such agent. */
  readonly position: number;
  readonly damage: readonly Damage[];
}
