import type { TornTail } from "../checkpoint/format/TornTail.ts";
import type { WaitingFor } from "../checkpoint/status/TaskStatus.ts";
import type { ModelUsage } from "../checkpoint/status/ModelUsage.ts";

/** What an event shows of a checkpoint. */
export interface EventCheckpoint {
  readonly checkpointId: string;
  readonly version: number;
  /** The node that runs next; `finish` at the end of a run. */
  readonly nodeId: string;
  /** Nodes completed so far. */
  readonly iteration: number;
  /** 0 to 100; absent if none was set. */
  readonly progress?: number;
  readonly progressSummary?: string;
}

/** The steps of a recovery, in order. */
export type RecoveryStepName = "find_checkpoint" | "verify_environment" | "restore_state" | "resume_execution";

/** The line of a run that an event is about. */
export interface EventLine {
  /** The branch of a parallel node, such as `both#facts`. Absent: none. */
  readonly branch?: string;
  /** The sub-agent: the names of the tools that the agents are called as, outermost first. Absent: the agent itself. */
  readonly agentPath?: readonly string[];
}

/** The events about a line of a run by their type, with their fields besides those of {@link EventLine}. */
interface LineEvents {
  /** A checkpoint is durable. */
  readonly checkpoint_saved: EventCheckpoint & {
    /**
     * Why it was made: `run_started`, `after_node`, `run_ended`, `line_started` and `line_ended` (of a branch or a
     * sub-agent), `fork` (a parallel node begins), `joined` (its branches have ended), `unresolved` (a node ended and no edge matched),
     * `asked_for` (by `createCheckpoint`), the move that led to it, or the name of a configured trigger.
     */
    readonly trigger: string;
  };
  /**
   * A trigger was due, and no checkpoint was made for it. `merged`: another trigger of the same moment made one.
   * `unchanged`: there is nothing to store. `superseded`: the node has saved a later state by `createCheckpoint`.
   * `replaying`: the log has more of the nodes that run again; the trigger is asked again after each of them.
   */
  readonly checkpoint_skipped: {
    readonly nodeId: string;
    readonly trigger: string;
    readonly reason: "merged" | "unchanged" | "superseded" | "replaying";
  };
  /** A trigger threw; its checkpoint is made anyway. Without a listener this is a process warning. */
  readonly trigger_failed: { readonly nodeId: string; readonly trigger: string; readonly reason: string };
  /** An agent continues from a stored checkpoint: after an interruption, on a branch, or rolled back. */
  readonly checkpoint_restored: EventCheckpoint & { readonly by: "resume" | "branch" | "rollback" };
  /** The strategy or the tools have changed, and all that the line can still run is unchanged: it continues with the new code. */
  readonly strategy_adapted: {
    /** One text for each difference, such as `node "check" is new`. */
    readonly differences: readonly string[];
  };
  /** A line has gone through migrations, from the version of the strategy that it had to that of the code. */
  readonly run_migrated: { readonly from: number; readonly to: number };
  /** A request for input or for an approval is durable, and waits for an answer. Not emitted when it is asked again. */
  readonly request_opened: { readonly nodeId: string; readonly requestId: string; readonly waitingFor: WaitingFor };
  /**
   * An answer of the model is durable; never emitted for an answer that is replayed. `usage`: the tokens of this request,
   * absent if unknown. `finishReason`: why the model stopped, absent if unknown.
   */
  readonly model_answered: {
    /** The node that asked, itself or by a tool. */
    readonly nodeId: string;
    readonly usage?: ModelUsage;
    readonly finishReason?: string;
  };
  /** A model request failed with `error`, and is made again after `delayMs` milliseconds. `attempt`: which one failed, from 1. */
  readonly model_retry: {
    readonly nodeId: string;
    readonly attempt: number;
    readonly delayMs: number;
    readonly error: unknown;
  };
  /** Summaries replaced `messages` older messages and `toolOutputs` tool outputs; durable with the next checkpoint. */
  readonly history_trimmed: { readonly toolOutputs: number; readonly messages: number };
  /** The summarizer threw `error`; its content stays in the history unchanged. */
  readonly trimming_failed: { readonly content: "tool_output" | "messages"; readonly error: unknown };
  /** A branch of a parallel node failed with `error`; the others go on, unless the node has `onFailure: "stop"`. */
  readonly branch_failed: {
    /** The node that ran. */
    readonly nodeId: string;
    readonly error: unknown;
  };
}

/** The events about a run by their type, with their fields. */
interface RunEvents {
  /** The status of an agent has changed; its summary is durable. */
  readonly status_changed: {
    readonly status: string;
    /** Absent: the agent is new. */
    readonly previous?: string;
    /** The data of the new status, as summaries show it. */
    readonly data: unknown;
  };
  /** A recovery is about to resume the agent. `task`: the name of its task; without a task the agent's id. */
  readonly recovery_notice: EventCheckpoint & { readonly task: string };
}

/** The events about an agent as a whole by their type, with their fields. */
interface AgentEvents {
  /** The log of an opened agent ended in the beginning of an append, which was skipped. A crash leaves that, and so does damage. */
  readonly log_torn_tail: { readonly tornTail: TornTail };
  /** The summary of an opened agent was damaged, or that of another agent. `file` was written anew from the log. */
  readonly summary_rebuilt: { readonly file: string };
  /** Checkpoints of an agent were deleted, or the whole agent was. */
  readonly checkpoint_pruned: {
    /** True if the whole agent was deleted. */
    readonly dropped: boolean;
    /** Oldest first. */
    readonly checkpointIds: readonly string[];
    /** Their approximate size in bytes of JSON before compression. */
    readonly bytes: number;
  };
  /**
   * Pruning at the end of a run or by a schedule failed, or its bytes could not be removed yet; the next pruning of the agent
   * removes them. Nothing else is affected. If a schedule could not determine what to prune, `agentId` is the definition's.
   */
  readonly pruning_failed: { readonly error: unknown };
  /** A step of a recovery has ended. */
  readonly recovery_step: {
    readonly step: RecoveryStepName;
    /** Names of the checks that failed. */
    readonly failed: readonly string[];
    /** The option chosen for each mismatch, in the order of the mismatches. */
    readonly chosen: readonly string[];
  };
}

interface EventOrigin<Type> {
  readonly type: Type;
  readonly agentId: string;
  /** Absent: the event is not about one run. */
  readonly runId?: string;
  /** When the event was emitted: ISO 8601, by the configured clock. */
  readonly at: string;
}

/** Something that happened to a durable agent. `type` says what. New types may be added: let a `switch` ignore unknown ones. */
export type PersistenceEvent =
  | {
      [Type in keyof LineEvents]: EventOrigin<Type> & { readonly runId: string } & EventLine & LineEvents[Type];
    }[keyof LineEvents]
  | { [Type in keyof RunEvents]: EventOrigin<Type> & { readonly runId: string } & RunEvents[Type] }[keyof RunEvents]
  | { [Type in keyof AgentEvents]: EventOrigin<Type> & AgentEvents[Type] }[keyof AgentEvents];

/** Gets every event. It is not awaited, and its errors have no other effect than a call of `onListenerError`. */
export type PersistenceListener = (event: PersistenceEvent) => void | PromiseLike<void>;

/** Receives what a listener threw or rejected with, and the event that it was given. */
export type ListenerErrorHandler = (error: unknown, event: PersistenceEvent) => void | PromiseLike<void>;

/** An event as it is emitted; the emitter adds its time. */
export type EventBody = Untimed<PersistenceEvent>;
type Untimed<Event> = Event extends PersistenceEvent ? Omit<Event, "at"> : never;
