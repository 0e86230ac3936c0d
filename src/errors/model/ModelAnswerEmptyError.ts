import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A model answered with neither text nor a file nor a tool call. */
export class ModelAnswerEmptyError extends AgentPersistenceError {
  override readonly code = "model_answer_empty";
  readonly model: string;
  readonly provider: string;
  /** Why the model stopped, in the words of the AI SDK, such as `stop` or `length`. */
  readonly finishReason: string;

  constructor(model: string, provider: string, finishReason: string) {
    const next = finishReason === "length" ? "Raise maxOutputTokens: reasoning may have used it up." : "Ask again.";
    super(
      `Model ${JSON.stringify(model)} of ${provider} answered with neither text nor a tool call ` +
        `(finish reason ${JSON.stringify(finishReason)}). ${next}`,
    );
    this.model = model;
    this.provider = provider;
    this.finishReason = finishReason;
  }
}
