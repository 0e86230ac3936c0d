import type { ModelUsage } from "../checkpoint/tokenUsage/ModelUsage.ts";
import { AgentPersistenceError, type ErrorCause, quoted } from "./AgentPersistenceError.ts";

/** A model parameter has an unknown name or an invalid value. The request was not sent. */
export class InvalidModelParametersError extends AgentPersistenceError {
  override readonly code = "invalid_model_parameters";

  constructor(
    readonly problems: readonly string[],
    known: readonly string[],
  ) {
    super(
      `The model parameters are invalid: ${problems.join("; ")}. Known names: ${known.join(", ")}. ` +
        `Put provider-specific parameters in providerOptions.`,
    );
  }
}

/** A model response was cut off at the maximum length. The response is not added to the message history. */
export class ModelAnswerCutError extends AgentPersistenceError {
  override readonly code = "model_answer_cut";

  constructor(
    readonly model: string,
    /** The received text, possibly empty. */
    readonly text: string,
  ) {
    super(
      `The response of model ${quoted(model)} was cut off at its maximum length. ` +
        `Resume with a higher limit: resume({ agentId, modelParameters: { maxOutputTokens } }). ` +
        `To accept shortened responses, set acceptCutAnswers: true.`,
    );
  }
}

/** A prompt executor has no model with the requested name. The request was not sent. */
export class ModelNotAvailableError extends AgentPersistenceError {
  override readonly code = "model_not_available";

  constructor(
    readonly model: string,
    readonly reason: string,
    options?: ErrorCause,
  ) {
    super(`Model ${quoted(model)} is not available: ${reason}. Check llmModel.`, options);
  }
}

// `cause` is declared here, because older TypeScript libs do not declare it on Error.
type Failure = Pick<ModelRequestError, "model" | "provider" | "retryable"> &
  Partial<Pick<ModelRequestError, "statusCode" | "retryAfterMs">> & { readonly cause: unknown };

/** The provider rejected a model request, or is not reachable. `cause` is the error of the provider. */
export class ModelRequestError extends AgentPersistenceError {
  override readonly code = "model_request_failed";
  readonly model: string;
  readonly provider: string;
  /** The HTTP status. `undefined` without a response, for example after a dropped connection. */
  readonly statusCode: number | undefined;
  /** Whether the provider's client considers the request retryable. `false` if the client does not say. */
  readonly retryable: boolean;
  /** The delay before the next attempt, in milliseconds. `undefined` if the provider did not specify a delay. */
  readonly retryAfterMs: number | undefined;

  constructor(failure: Failure) {
    super(messageOf(failure), { cause: failure.cause });
    this.model = failure.model;
    this.provider = failure.provider;
    this.statusCode = failure.statusCode;
    this.retryable = failure.retryable;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

function messageOf({ model, provider, statusCode, retryable, retryAfterMs, cause }: Failure): string {
  const status = statusCode === undefined ? "" : ` with status ${statusCode}`;
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, "");
  const wait = retryAfterMs === undefined ? "" : ` after ${retryAfterMs} ms`;
  const next = retryable
    ? `Try the same request again${wait}.`
    : statusCode === 401 || statusCode === 403
      ? "Check the API key and its permissions."
      : "Change the request, because the same request will probably fail again.";
  return `The request to model ${quoted(model)} of ${provider} failed${status}: ${reason}. ${next}`;
}

/** A model did not respond within the time limit. The request was aborted. */
export class ModelTimeoutError extends AgentPersistenceError {
  override readonly code = "model_timed_out";
  /** The same request may succeed later. */
  readonly retryable = true;

  constructor(
    readonly model: string,
    readonly timeoutMs: number,
  ) {
    super(
      `Model ${quoted(model)} did not respond within ${timeoutMs} ms. Try the same request again, ` +
        `or raise modelTimeoutMs.`,
    );
  }
}

/**
 * A model cannot call a tool with this input schema. The schema has no JSON Schema form, or its JSON Schema does not
 * describe an object. The request was not sent.
 */
export class ToolSchemaError extends AgentPersistenceError {
  override readonly code = "tool_schema_unsupported";

  constructor(
    readonly toolName: string,
    options: { readonly cause: unknown },
  ) {
    const reason = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(
      `The input schema of tool ${quoted(toolName)} cannot be sent to a model: ${reason}. ` +
        `Use z.object({ … }) with types that JSON has, such as z.iso.datetime() for a date, and transform their values.`,
      options,
    );
  }
}

/** A message contains a part of a type that models do not accept in messages of this role. The request was not sent. */
export class UnsupportedMessagePartError extends AgentPersistenceError {
  override readonly code = "unsupported_message_part";

  constructor(
    readonly role: string,
    readonly partType: string,
    expected: readonly string[],
  ) {
    super(
      `A message with the role ${quoted(role)} has a part of type ${quoted(partType)}, ` +
        `but models accept only ${expected.join(", ")} from this role. Move the part to a message with another role.`,
    );
  }
}

/** A model responded, but the run cannot use the response. The response is not added to the message history. */
export class UnusableModelAnswerError extends AgentPersistenceError {
  /** Whether the same request may produce a different response. */
  readonly retryable: boolean;

  constructor(
    override readonly code:
      | "model_answer_empty"
      | "model_answer_filtered"
      | "model_answer_incomplete"
      | "model_answer_malformed"
      | "too_many_tool_calls"
      | "unsupported_model_answer",
    readonly model: string,
    /** Omitted if the provider is unknown. */
    readonly provider?: string,
    /**
     * Details that depend on `code`:
     *
     * - `model_answer_empty`: the finish reason in the terms of the AI SDK, such as `length`.
     * - `model_answer_incomplete`: the provider's reason. Omitted if the provider gave no reason.
     * - `unsupported_model_answer`: the content that a message cannot contain, such as `a tool call that the provider
     * executes itself ("web_search")`.
     * - `model_answer_malformed`: the expected and the actual value.
     * - `too_many_tool_calls`: the number of calls and the limit.
     * - `model_answer_filtered`: omitted.
     */
    readonly detail?: string,
    /** The token usage of the response. Omitted if unknown. */
    readonly usage?: ModelUsage,
  ) {
    super(messages[code](`model ${quoted(model)}${provider === undefined ? "" : ` of ${provider}`}`, detail));
    this.retryable = code === "model_answer_incomplete" || (code === "model_answer_empty" && detail !== "length");
  }
}

const messages: Readonly<Record<UnusableModelAnswerError["code"], (model: string, detail?: string) => string>> = {
  model_answer_empty: (model, finishReason) =>
    `The response of ${model} has no text, no file and no tool call (finish reason ${JSON.stringify(finishReason)}). ` +
    (finishReason === "length" ? "Raise maxOutputTokens, because reasoning possibly used all of them." : "Try again."),
  model_answer_filtered: (model) =>
    `The provider's content filter stopped the response of ${model}. ` +
    `Change the messages that the filter rejects, or use another model.`,
  model_answer_incomplete: (model, finishReason) =>
    `The response of ${model} stopped because of a provider error (${finishReason ?? "no reason given"}). Try again.`,
  model_answer_malformed: (model, problem) =>
    `The response of ${model} does not have the required shape: ${problem}. Correct the model adapter.`,
  too_many_tool_calls: (model, calls) =>
    `The response of ${model} has ${calls}. Prompt the model to make fewer calls, or raise maxToolCallsPerAnswer.`,
  unsupported_model_answer: (model, found) =>
    `The response of ${model} contains ${found}. Only text, reasoning, files and calls of the agent's tools are supported. ` +
    `Turn off that feature of the provider.`,
};
