import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * A model stopped because its response reached the maximum length. The response is not added to the message history.
 */
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
