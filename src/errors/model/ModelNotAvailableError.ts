import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";
import { quoted } from "../quoted.ts";

/** A prompt executor has no model with the requested name. The request was not sent. */
export class ModelNotAvailableError extends AgentPersistenceError {
  override readonly code = "model_not_available";

  constructor(
    readonly model: string,
    /** The reason, as a clause without a period. */
    readonly reason: string,
    options?: ErrorCause,
  ) {
    super(`Model ${quoted(model)} is not available: ${reason}. Check llmModel.`, options);
  }
}
