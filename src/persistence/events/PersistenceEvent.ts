import type { TornTail } from "../../storage/RecordLog.ts";

/** Which agent an event is about, and when it was told. */
export interface EventOrigin {
  readonly agentId: string;
  /** Absent: the event is not about one run. */
  readonly runId?: string;
  /** ISO 8601, by the configured clock. */
  readonly at: string;
}

/** What an event shows of a checkpoint. */
export interface EventCheckpoint {
  readonly checkpointId: string;
  readonly version: number;
  /** The node that runs next; `finish` at the end of a run. */
  readonly nodeId: string;
  /** Nodes completed so far. */
  readonly iteration: number;
  /** 0 to 100; absent when none was set. */
  readonly progress?: number;
  readonly progressSummary?: string;
}

/** A checkpoint is durable. */
export interface CheckpointSavedEvent extends EventOrigin, EventCheckpoint {
  readonly kind: "checkpoint_saved";
  readonly runId: string;
  /**
   * Why it was made: `run_started`, `after_node`, `run_ended`, `unresolved` (a node ended and its edges lead nowhere),
   * `asked_for` (by `createCheckpoint`), the move that led to it, or the name of a configured trigger.
   */
  readonly trigger: string;
}

/**
 * A checkpoint was due by a trigger and was not made. `merged`: another one of the same moment does for both. `unchanged`:
 * there is nothing to store. `superseded`: the node has saved a later state by `createCheckpoint`.
 */
export interface CheckpointSkippedEvent extends EventOrigin {
  readonly kind: "checkpoint_skipped";
  readonly runId: string;
  readonly nodeId: string;
  readonly trigger: string;
  readonly reason: "merged" | "unchanged" | "superseded";
}

/** A trigger threw. The checkpoint that it might have asked for is made. Without a listener it is a warning of the process. */
export interface TriggerFailedEvent extends EventOrigin {
  readonly kind: "trigger_failed";
  readonly runId: string;
  readonly nodeId: string;
  readonly trigger: string;
  readonly reason: string;
}

/** An agent goes on from a stored checkpoint: after an interruption, on a branch, or rolled back. */
export interface CheckpointRestoredEvent extends EventOrigin, EventCheckpoint {
  readonly kind: "checkpoint_restored";
  readonly runId: string;
  readonly by: "resume" | "branch" | "rollback";
}

/** The status of an agent has changed; its summary is durable. */
export interface StatusChangedEvent extends EventOrigin {
  readonly kind: "status_changed";
  readonly runId: string;
  readonly status: string;
  /** Absent: the agent is new. */
  readonly previous?: string;
  /** The data of the new status, as summaries show it. */
  readonly data: unknown;
}

/** An agent was opened, and its log ended in an append that a crash had cut: nobody was told that it was stored. */
export interface LogTornTailEvent extends EventOrigin {
  readonly kind: "log_torn_tail";
  readonly tornTail: TornTail;
}

/** Older parts of a live history were replaced by summaries; with the next checkpoint that is durable. */
export interface HistoryTrimmedEvent extends EventOrigin {
  readonly kind: "history_trimmed";
  readonly runId: string;
  /** How many tool outputs were shortened. */
  readonly toolOutputs: number;
  /** How many messages became one. */
  readonly messages: number;
}

/** A summarizer failed; what it was given stays in the history as it is. */
export interface TrimmingFailedEvent extends EventOrigin {
  readonly kind: "trimming_failed";
  readonly runId: string;
  readonly content: "tool_output" | "messages";
  /** What it threw. */
  readonly error: unknown;
}

/** Checkpoints of an agent were thrown away, or the whole agent was. */
export interface CheckpointPrunedEvent extends EventOrigin {
  readonly kind: "checkpoint_pruned";
  /** True when the whole agent went. */
  readonly dropped: boolean;
  /** Oldest first. */
  readonly checkpointIds: readonly string[];
  /** How much that was, roughly, in bytes of JSON before compression. */
  readonly bytes: number;
}

/**
 * An agent was to be pruned at the end of a run, or by a schedule, and was not; or it was, and the bytes could not be removed
 * yet: the next pruning of it does that. Everything goes on all the same. Where a
 * schedule could not find out what to prune, it is the definition's own agent.
 */
export interface PruningFailedEvent extends EventOrigin {
  readonly kind: "pruning_failed";
  readonly error: unknown;
}

/** The steps in which an agent is recovered. */
export type RecoveryStepName = "find_checkpoint" | "verify_environment" | "restore_state" | "resume_execution";

/** A step of a recovery has ended. */
export interface RecoveryStepEvent extends EventOrigin {
  readonly kind: "recovery_step";
  readonly step: RecoveryStepName;
  /** Names of the checks that failed. */
  readonly failed: readonly string[];
  /** What was chosen about it, in the order of the mismatches. */
  readonly chosen: readonly string[];
}

/** An agent is about to go on from where it was. */
export interface RecoveryNoticeEvent extends EventOrigin, EventCheckpoint {
  readonly kind: "recovery_notice";
  readonly runId: string;
  /** The name of its task; of an agent that is no task its id. */
  readonly task: string;
}

/** Something that happened to a durable agent. More kinds may come: let a `switch` pass over those it does not know. */
export type PersistenceEvent =
  | CheckpointSavedEvent
  | CheckpointRestoredEvent
  | StatusChangedEvent
  | LogTornTailEvent
  | RecoveryStepEvent
  | RecoveryNoticeEvent
  | HistoryTrimmedEvent
  | TrimmingFailedEvent
  | CheckpointPrunedEvent
  | PruningFailedEvent
  | CheckpointSkippedEvent
  | TriggerFailedEvent;

/** Is told what happens. It is not waited for, and what it throws or rejects with fails nothing. */
export type PersistenceListener = (event: PersistenceEvent) => void | PromiseLike<void>;

/** An event as it is reported from where it happens. */
export type EventBody = Untimed<PersistenceEvent>;
type Untimed<Event> = Event extends PersistenceEvent ? Omit<Event, "at"> : never;

/** Receives what a listener threw or rejected with, and the event that it was given. */
export type ListenerErrorHandler = (error: unknown, event: PersistenceEvent) => void | PromiseLike<void>;
