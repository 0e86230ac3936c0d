import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A model stopped because its answer reached the allowed length. The answer is not added to the message history. */
export class ModelAnswerCutError extends AgentPersistenceError {
  override readonly code = "model_answer_cut";

  constructor(
    readonly model: string,
    /** The text that came; empty if none did. */
    readonly text: string,
  ) {
    super(
      `The answer of model ${quoted(model)} was cut off at its length. Allow a longer one, and ask again: ` +
        `resume({ agentId, modelParameters }) with a higher maxOutputTokens. ` +
        `If short answers are intended, set acceptCutAnswers: true.`,
    );
  }
}
