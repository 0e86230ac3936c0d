import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A model answered, but the run cannot continue with the answer. It is not added to the message history. */
export class UnusableModelAnswerError extends AgentPersistenceError {
  /** Whether the same request may get another answer. */
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
    /** Absent: the executor or the runtime does not say whose model it is. */
    readonly provider?: string,
    /**
     * The reason why the model stopped: of an empty answer in the words of the AI SDK, such as `length`; of an incomplete
     * one in the provider's words, absent when it gave none. For an unsupported answer the content that a message cannot
     * hold, such as `a tool call that the provider executes itself ("web_search")`. For a malformed answer what was expected
     * and what was found. For too many calls their number and the limit. Absent for a filtered answer.
     */
    readonly detail?: string,
    /** The tokens that the answer took. Absent: unknown. */
    readonly usage?: ModelUsage,
  ) {
    super(messages[code](`model ${quoted(model)}${provider === undefined ? "" : ` of ${provider}`}`, detail));
    this.retryable = code === "model_answer_incomplete" || (code === "model_answer_empty" && detail !== "length");
  }
}

const messages: Readonly<Record<UnusableModelAnswerError["code"], (model: string, detail?: string) => string>> = {
  model_answer_empty: (model, finishReason) =>
    `The answer of ${model} has no text, no file and no tool call (finish reason ${JSON.stringify(finishReason)}). ` +
    (finishReason === "length" ? "Raise maxOutputTokens: reasoning may have used all of them." : "Ask again."),
  model_answer_filtered: (model) =>
    `The provider's content filter stopped the answer of ${model}. ` +
    `Change the messages that the filter objects to, or ask another model.`,
  model_answer_incomplete: (model, finishReason) =>
    `The answer of ${model} broke off because of an error of the provider (${finishReason ?? "no reason was given"}). Ask again.`,
  model_answer_malformed: (model, problem) =>
    `The answer of ${model} does not have the required shape: ${problem}. Correct the adapter of the model.`,
  too_many_tool_calls: (model, calls) =>
    `The answer of ${model} has ${calls}. Ask for fewer calls, or raise maxToolCallsPerAnswer.`,
  unsupported_model_answer: (model, found) =>
    `The answer of ${model} contains ${found}; only text, reasoning, files and calls of the agent's own tools are supported. ` +
    `Turn off that feature of the provider.`,
};
