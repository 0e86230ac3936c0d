import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * A model responded, but the run cannot continue with the response. The response is not added to the message history.
 */
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
