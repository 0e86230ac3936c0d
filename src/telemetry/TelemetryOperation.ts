import type { Message } from "../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../checkpoint/tokenUsage/ModelUsage.ts";

export interface TelemetrySpan {
  /**
   * The ids of the trace and the span, as the `traceparent` of W3C Trace Context. Stored with a run, so that a resume
   * in another process can link to this span. If omitted, there is no link.
   */
  readonly trace?: string | undefined;
  /** Calls `action` once and returns its result. Operations that start before its promise settles are nested. */
  run<Result>(action: () => Result): Result;
  /** Ends the operation, once. @param facts Facts known only at the end. @param failure Omitted after a success. */
  end(facts: TelemetryFacts, failure?: TelemetryFailure): void;
}

export interface TelemetryFailure {
  readonly error: unknown;
}

/**
 * The kinds of operations:
 *
 * - `invoke_agent`: a call of `run` or `resume`, or of a sub-agent
 * - `chat`: a model request, with its retries
 * - `execute_tool`: a tool call
 * - `save`: a checkpoint, from its queueing until it is durable
 * - `open`: taking ownership of an agent and reading its log
 * - `resume`: preparing a stored state for a run
 * - `rollback`: a rollback, with one `inverse` for each reverted call
 * - `enqueue`: storing a task in the queue
 * - `answer`: answering or rejecting a request
 * - `prune`: deleting checkpoints or agents
 */
export type TelemetryKind =
  | "invoke_agent"
  | "chat"
  | "execute_tool"
  | "save"
  | "open"
  | "resume"
  | "rollback"
  | "inverse"
  | "enqueue"
  | "answer"
  | "prune";

/** An operation when it starts. */
export interface TelemetryOperation extends TelemetryFacts {
  readonly kind: TelemetryKind;
}

/** Facts about an operation. Facts that are unknown or do not apply are omitted. */
export interface TelemetryFacts {
  /** The id of the durable agent, thread or session. Omitted for operations on several agents. */
  readonly agentId?: string | undefined;
  readonly runId?: string | undefined;
  /** The name of the definition, which all its durable agents share. */
  readonly agentName?: string | undefined;
  readonly definitionId?: string | undefined;
  /** The names of the tools that call this sub-agent, outermost first. */
  readonly agentPath?: readonly string[] | undefined;
  /** The path of the branch of a parallel node. */
  readonly branch?: string | undefined;
  readonly nodeId?: string | undefined;
  /** True if the result was recorded earlier, and no model or tool was called. */
  readonly replayed?: boolean | undefined;
  /** How a call of an agent or tool ended, such as `waiting`. Omitted if the call failed. */
  readonly status?: string | undefined;
  /** The `traceparent` of the operation in an earlier process that this one continues. */
  readonly linkedTrace?: string | undefined;

  /** The provider of the model, such as `openai`. */
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** The parameters of the model request, as the AI SDK names them, such as `temperature` and `maxOutputTokens`. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The model that responded, as the provider reports it. */
  readonly responseModel?: string | undefined;
  /** The provider's id of the response. */
  readonly responseId?: string | undefined;
  readonly finishReason?: string | undefined;
  /** The tokens of this model request. For an agent, the tokens of the whole run. */
  readonly usage?: ModelUsage | undefined;

  readonly toolName?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** The declared effect of the tool: `none`, `idempotent`, `reversible` or `irreversible`. */
  readonly effect?: string | undefined;

  readonly checkpointId?: string | undefined;
  /** Why the checkpoint was made, as in `checkpoint_saved` events. */
  readonly trigger?: string | undefined;
  readonly requestIds?: readonly string[] | undefined;
  /** The number of calls that a rollback reverted, and of those that it could not revert. */
  readonly reverted?: number | undefined;
  readonly unreverted?: number | undefined;
  /** The number of checkpoints that a pruning deleted, and their approximate size in bytes. */
  readonly prunedCheckpoints?: number | undefined;
  readonly prunedBytes?: number | undefined;

  /** Set only when an operation ends, if telemetry shows content. */
  readonly content?: TelemetryContent | undefined;
}

export interface TelemetryContent {
  readonly messages?: readonly Message[] | undefined;
  readonly answer?: Message | undefined;
  readonly input?: unknown;
  readonly output?: unknown;
}
