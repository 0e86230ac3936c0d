import type { TornTail } from "../checkpoint/records/Entry.ts";
import type { WaitingFor } from "../checkpoint/status/TaskStatus.ts";
import type { ModelUsage } from "../checkpoint/tokenUsage/ModelUsage.ts";

export interface EventCheckpoint {
  readonly checkpointId: string;
  readonly version: number;
  /** The node that runs next. `finish` at the end of a run. */
  readonly nodeId: string;
  readonly iteration: number;
  /** 0 to 100. Omitted if the run has not set its progress. */
  readonly progress?: number;
  readonly progressSummary?: string;
}

/** The steps of a recovery, in order. */
export type RecoveryStepName = "find_checkpoint" | "verify_environment" | "restore_state" | "resume_execution";

/** The run itself, a branch of a parallel node, or a sub-agent, to which an event belongs. */
export interface EventLine {
  /** The path of the branch: the parallel node and the key, such as `both#facts`. Omitted outside of branches. */
  readonly branch?: string;
  /** The names of the tools that call the sub-agent, outermost first. Omitted outside of sub-agents. */
  readonly agentPath?: readonly string[];
}

/** The events about the run, a branch or a sub-agent, by type. Each event has the fields of {@link EventLine}. */
interface LineEvents {
  /** A checkpoint is durable. */
  readonly checkpoint_saved: EventCheckpoint & {
    /**
     * The configured trigger of the checkpoint, or one of these reasons:
     *
     * - `run_started`, `run_ended`: the run starts or ends
     * - `after_node`: a node has finished
     * - `line_started`, `line_ended`: a branch or a sub-agent starts or ends
     * - `fork`: a parallel node starts
     * - `joined`: the branches of a parallel node have finished
     * - `unresolved`: a node has finished and no edge matched
     * - `asked_for`: `createCheckpoint` was called
     * - `rollback`, `execution_point`, `branch`, `edit`, `migration`: the change that made the checkpoint
     */
    readonly trigger: string;
  };
  /**
   * A trigger was due but made no checkpoint. `merged`: it shares the checkpoint of another trigger. `unchanged`: the
   * state has not changed. `superseded`: the node has saved a later state with `createCheckpoint`. `replaying`: the run
   * repeats recorded nodes, and evaluates the trigger again after each node.
   */
  readonly checkpoint_skipped: {
    readonly nodeId: string;
    readonly trigger: string;
    readonly reason: "merged" | "unchanged" | "superseded" | "replaying";
  };
  /** A trigger threw an error. The checkpoint is made anyway. Without a listener, the error is a process warning. */
  readonly trigger_failed: { readonly nodeId: string; readonly trigger: string; readonly reason: string };
  /** An agent continues from a stored checkpoint: after an interruption, on a new branch, or after a rollback. */
  readonly checkpoint_restored: EventCheckpoint & { readonly by: "resume" | "branch" | "rollback" };
  /** The strategy or the tools changed, but not the code that the unfinished run needs. The run continues. */
  readonly strategy_adapted: {
    /** A text for each difference, such as `node "check" is new`. */
    readonly differences: readonly string[];
  };
  /** A run, branch or sub-agent was migrated to the current version of its strategy. */
  readonly run_migrated: { readonly from: number; readonly to: number };
  /** A request for input or approval is durable. Not emitted again when a node repeats the request. */
  readonly request_opened: { readonly nodeId: string; readonly requestId: string; readonly waitingFor: WaitingFor };
  /**
   * A model response is durable. Not emitted for replayed responses. `usage`: the tokens of this request, omitted if
   * unknown. `finishReason`: why the model stopped, omitted if unknown.
   */
  readonly model_answered: {
    /** The node that made the request, directly or through a tool. */
    readonly nodeId: string;
    readonly usage?: ModelUsage;
    readonly finishReason?: string;
  };
  /** A model request failed with `error` and is retried after `delayMs`. `attempt` counts failed attempts, from 1. */
  readonly model_retry: {
    readonly nodeId: string;
    readonly attempt: number;
    readonly delayMs: number;
    readonly error: unknown;
  };
  /** Summaries replaced `messages` messages and `toolOutputs` tool outputs. Durable with the next checkpoint. */
  readonly history_trimmed: { readonly toolOutputs: number; readonly messages: number };
  /** The summarizer threw `error`. The content that it should summarize stays in the history. */
  readonly trimming_failed: { readonly content: "tool_output" | "messages"; readonly error: unknown };
  /** A branch of a parallel node failed with `error`. The other branches continue, unless `onFailure` is `"stop"`. */
  readonly branch_failed: {
    readonly nodeId: string;
    readonly error: unknown;
  };
}

/** The events about a run, by type, with their fields. */
interface RunEvents {
  /** The status of an agent has changed, and its summary is durable. */
  readonly status_changed: {
    readonly status: string;
    /** The earlier status. Omitted for a new agent. */
    readonly previous?: string;
    /** The data of the new status, as in summaries. */
    readonly data: unknown;
  };
  /** A recovery is about to resume the agent. `task` is the name of the task, or the agent id without a task. */
  readonly recovery_notice: EventCheckpoint & { readonly task: string };
}

/** The events about an agent as a whole, by type, with their fields. */
interface AgentEvents {
  /** An opened log ends with an incomplete append, from a crash or damage. The append was skipped. */
  readonly log_torn_tail: { readonly tornTail: TornTail };
  /** The summary of an opened agent was damaged, or belonged to another agent. `file` was rebuilt from the log. */
  readonly summary_rebuilt: { readonly file: string };
  /** Checkpoints of an agent or the whole agent were deleted. */
  readonly checkpoint_pruned: {
    /** True if the whole agent was deleted. */
    readonly dropped: boolean;
    /** The ids of the deleted checkpoints, oldest first. */
    readonly checkpointIds: readonly string[];
    /** The approximate number of deleted bytes of JSON before compression. */
    readonly bytes: number;
  };
  /**
   * Pruning at the end of a run or by a schedule failed. The next pruning of the agent tries again. The run is not
   * affected. If a schedule could not list the agents, `agentId` is the agent id of the definition.
   */
  readonly pruning_failed: { readonly error: unknown };
  /**
   * A stream store failed, or did not answer within `storeTimeoutMs`. Emitted once until the store works again. Clients
   * receive the missing chunks with the complete response. The run is not affected.
   */
  readonly stream_store_failed: { readonly operation: "append" | "remove"; readonly error: unknown };
  readonly recovery_step: {
    readonly step: RecoveryStepName;
    /** Names of the failed checks. */
    readonly failed: readonly string[];
    /** The options chosen for the mismatches, in the order of the mismatches. */
    readonly chosen: readonly string[];
  };
}

interface EventOrigin<Type> {
  readonly type: Type;
  readonly agentId: string;
  /** Omitted if the event is not about a single run. */
  readonly runId?: string;
  /** The time of the event in ISO 8601, by the configured clock. */
  readonly at: string;
}

/** An event of a durable agent. New types may be added, so ignore unknown types. */
export type PersistenceEvent =
  | {
      [Type in keyof LineEvents]: EventOrigin<Type> & { readonly runId: string } & EventLine & LineEvents[Type];
    }[keyof LineEvents]
  | { [Type in keyof RunEvents]: EventOrigin<Type> & { readonly runId: string } & RunEvents[Type] }[keyof RunEvents]
  | { [Type in keyof AgentEvents]: EventOrigin<Type> & AgentEvents[Type] }[keyof AgentEvents];

/** Receives every event. The result is not awaited. Errors are passed to `onListenerError`. */
export type PersistenceListener = (event: PersistenceEvent) => unknown;

export type ListenerErrorHandler = (error: unknown, event: PersistenceEvent) => unknown;

/** An event without its time, which the emitter adds. */
export type EventBody = Untimed<PersistenceEvent>;
type Untimed<Event> = Event extends PersistenceEvent ? Omit<Event, "at"> : never;
