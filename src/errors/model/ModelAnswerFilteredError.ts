import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The provider's content filter stopped a model's answer; what came before is withheld, since it is not whole. */
export class ModelAnswerFilteredError extends AgentPersistenceError {
  override readonly code = "model_answer_filtered";
  readonly model: string;
  readonly provider: string;

  constructor(model: string, provider: string) {
    super(
      `The content filter of ${provider} stopped the answer of model ${JSON.stringify(model)}. ` +
        `Change the messages that it objects to, or ask another model.`,
    );
    this.model = model;
    this.provider = provider;
  }
}
