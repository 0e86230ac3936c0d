import type { Message } from "../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../checkpoint/status/ModelUsage.ts";

/** A started operation. */
export interface TelemetrySpan {
  /**
   * The trace and the span id, as the `traceparent` of W3C Trace Context. It is stored with a run, so that a resume in
   * another process can link to this span. If omitted, nothing is stored.
   */
  readonly trace?: string | undefined;
  /** Calls `action` once and returns its result. Operations that start inside it, or its promise, are nested. */
  run<Result>(action: () => Result): Result;
  /** Ends the operation, once. @param facts Facts that are known only now. @param failure Omitted for a success. */
  end(facts: TelemetryFacts, failure?: TelemetryFailure): void;
}

/** The error of a failed operation. */
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

/** An operation at its start. */
export interface TelemetryOperation extends TelemetryFacts {
  readonly kind: TelemetryKind;
}

/** The facts about an operation. Omitted facts are unknown or do not apply. */
export interface TelemetryFacts {
  /** The id of the durable agent, thread or session. Omitted if the operation is about several. */
  readonly agentId?: string | undefined;
  readonly runId?: string | undefined;
  /** The name of the definition, which all its durable agents share. */
  readonly agentName?: string | undefined;
  /** The id of the definition. Omitted if it has no id. */
  readonly definitionId?: string | undefined;
  /** The names of the tools from the agent down to this sub-agent. */
  readonly agentPath?: readonly string[] | undefined;
  /** The branch of a parallel node. */
  readonly branch?: string | undefined;
  /** The node of the strategy or graph. */
  readonly nodeId?: string | undefined;
  /** True if the result was recorded earlier, and no model or tool was called. */
  readonly replayed?: boolean | undefined;
  /** How a call of an agent or tool ended, such as `waiting`. Omitted if the call failed. */
  readonly status?: string | undefined;
  /** The `traceparent` of the operation that this operation continues, from an earlier process. */
  readonly linkedTrace?: string | undefined;

  /** The provider of the model, such as `openai`. */
  readonly provider?: string | undefined;
  /** The requested model. */
  readonly model?: string | undefined;
  /** The settings of the request, under the names of the AI SDK, such as `temperature` and `maxOutputTokens`. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The model that responded, according to the provider. */
  readonly responseModel?: string | undefined;
  /** The provider's id of the response. */
  readonly responseId?: string | undefined;
  readonly finishReason?: string | undefined;
  /** The tokens of this request. For an agent, the tokens of the whole run. */
  readonly usage?: ModelUsage | undefined;

  readonly toolName?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** The declared effect of the tool: `none`, `idempotent`, `reversible` or `irreversible`. */
  readonly effect?: string | undefined;

  readonly checkpointId?: string | undefined;
  /** The reason for a checkpoint, as in events. */
  readonly trigger?: string | undefined;
  /** The answered requests. */
  readonly requestIds?: readonly string[] | undefined;
  /** The number of calls that a rollback has reverted, and the number that it could not revert. */
  readonly reverted?: number | undefined;
  readonly unreverted?: number | undefined;
  /** The number of checkpoints that a pruning deleted, and their approximate size in bytes. */
  readonly prunedCheckpoints?: number | undefined;
  readonly prunedBytes?: number | undefined;

  /** Set only at the end, and only if telemetry shows content. */
  readonly content?: TelemetryContent | undefined;
}

/** The inputs and outputs of models and tools. */
export interface TelemetryContent {
  /** The messages of a model request. */
  readonly messages?: readonly Message[] | undefined;
  /** The response of the model. */
  readonly answer?: Message | undefined;
  /** The input of a tool or an agent. */
  readonly input?: unknown;
  /** The output of a tool or an agent. */
  readonly output?: unknown;
}
