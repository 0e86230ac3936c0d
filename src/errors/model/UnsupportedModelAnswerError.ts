import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A model's answer holds something that a message cannot keep, so that the next request would not be true to it. */
export class UnsupportedModelAnswerError extends AgentPersistenceError {
  override readonly code = "unsupported_model_answer";
  readonly model: string;
  readonly provider: string;
  /** What cannot be kept, such as `a tool call that the provider executes itself ("web_search")`. */
  readonly found: string;

  constructor(model: string, provider: string, found: string) {
    super(
      `The answer of model ${JSON.stringify(model)} of ${provider} holds ${found}; text, reasoning, files and calls of ` +
        `the agent's own tools are expected. Turn that feature of the provider off.`,
    );
    this.model = model;
    this.provider = provider;
    this.found = found;
  }
}
