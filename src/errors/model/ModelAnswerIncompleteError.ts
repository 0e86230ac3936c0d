import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A model broke off its answer because of an error on the provider's side. */
export class ModelAnswerIncompleteError extends AgentPersistenceError {
  override readonly code = "model_answer_incomplete";
  readonly model: string;
  readonly provider: string;
  /** The provider's own word for it; absent when it gave none. */
  readonly rawFinishReason: string | undefined;

  constructor(model: string, provider: string, rawFinishReason: string | undefined) {
    super(
      `Model ${JSON.stringify(model)} of ${provider} broke off its answer ` +
        `(${rawFinishReason ?? "no reason was given"}). Ask again.`,
    );
    this.model = model;
    this.provider = provider;
    this.rawFinishReason = rawFinishReason;
  }
}
