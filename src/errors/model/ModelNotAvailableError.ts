import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A prompt executor has no model of the requested name. Nothing was sent. */
export class ModelNotAvailableError extends AgentPersistenceError {
  override readonly code = "model_not_available";
  /** The name that was asked for. */
  readonly model: string;
  readonly reason: string;

  constructor(model: string, reason: string, options?: { readonly cause: unknown }) {
    super(`Model ${JSON.stringify(model)} is not available: ${reason}.`, options);
    this.model = model;
    this.reason = reason;
  }
}
