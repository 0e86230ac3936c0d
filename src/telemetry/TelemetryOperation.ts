import type { Message } from "../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../checkpoint/status/ModelUsage.ts";

/** An operation that has begun. */
export interface TelemetrySpan {
  /**
   * Its trace and itself, as the `traceparent` of W3C Trace Context. It is stored with a run, so that a resume in another process
   * can link to it. Absent: nothing is stored.
   */
  readonly trace?: string | undefined;
  /** Calls `action` once and returns its result. What begins in it, also later in its promise, is within this operation. */
  run<Result>(action: () => Result): Result;
  /** The operation ends; called once. `facts`: those known only now. `failure`: what it failed with; absent: it did not. */
  end(facts: TelemetryFacts, failure?: TelemetryFailure): void;
}

/** What an operation failed with. */
export interface TelemetryFailure {
  readonly error: unknown;
}

/**
 * What can be shown:
 *
 * - `invoke_agent`: a call of `run` or `resume`, or an agent that another one calls as a tool
 * - `chat`: a model request, with its retries
 * - `execute_tool`: a tool call
 * - `save`: a checkpoint, from when it is queued until it is durable
 * - `open`: an agent is owned and its log is read
 * - `resume`: a stored state is made ready to go on from
 * - `rollback`, with one `inverse` for each call that it reverts
 * - `enqueue`: a task is stored in the queue
 * - `answer`: a request is answered or rejected
 * - `prune`: checkpoints or agents are deleted
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

/** An operation as it begins. */
export interface TelemetryOperation extends TelemetryFacts {
  readonly kind: TelemetryKind;
}

/** What is known of an operation. An absent fact is unknown, or there is none. */
export interface TelemetryFacts {
  /** The durable agent, thread or session. Absent: the operation is about several. */
  readonly agentId?: string | undefined;
  readonly runId?: string | undefined;
  /** The name of the definition, which is the same for all durable agents that it serves. */
  readonly agentName?: string | undefined;
  /** The id of the definition. Absent: it was given none. */
  readonly definitionId?: string | undefined;
  /** The names of the tools by which agents called each other down to this one. */
  readonly agentPath?: readonly string[] | undefined;
  /** The branch of a parallel node. */
  readonly branch?: string | undefined;
  /** The node of the strategy or graph. */
  readonly nodeId?: string | undefined;
  /** The result is a recorded one: no model was asked, no tool has run. */
  readonly replayed?: boolean | undefined;
  /** How an agent or a call ended that did not fail, such as `waiting`. */
  readonly status?: string | undefined;
  /** The `traceparent` of an earlier process that this operation goes on from. */
  readonly linkedTrace?: string | undefined;

  /** Whose model it is, such as `openai`. */
  readonly provider?: string | undefined;
  /** The model that is asked. */
  readonly model?: string | undefined;
  /** The settings of the request, under the names of the AI SDK, such as `temperature` and `maxOutputTokens`. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The model that answered, as the provider says. */
  readonly responseModel?: string | undefined;
  /** The provider's id of the answer. */
  readonly responseId?: string | undefined;
  readonly finishReason?: string | undefined;
  /** The tokens of this request; of an agent those of the whole run. */
  readonly usage?: ModelUsage | undefined;

  readonly toolName?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** What a repetition of the call means: `none`, `idempotent`, `reversible` or `irreversible`. */
  readonly effect?: string | undefined;

  readonly checkpointId?: string | undefined;
  /** Why a checkpoint was made, as events say it. */
  readonly trigger?: string | undefined;
  /** The requests that are answered. */
  readonly requestIds?: readonly string[] | undefined;
  /** How many calls a rollback has reverted, and how many it could not revert. */
  readonly reverted?: number | undefined;
  readonly unreverted?: number | undefined;
  /** How many checkpoints a pruning has deleted, and about how many bytes. */
  readonly prunedCheckpoints?: number | undefined;
  readonly prunedBytes?: number | undefined;

  /** Only at the end, and only if telemetry shows content. */
  readonly content?: TelemetryContent | undefined;
}

/** What models and tools were given and returned. */
export interface TelemetryContent {
  /** What the model was asked with. */
  readonly messages?: readonly Message[] | undefined;
  /** What it answered. */
  readonly answer?: Message | undefined;
  /** The input of a tool or an agent. */
  readonly input?: unknown;
  /** Its output. */
  readonly output?: unknown;
}
