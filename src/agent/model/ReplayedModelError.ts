import type { ModelFailure } from "../../checkpoint/records/callRecords.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";

/**
 * A model request of a node that runs again: its first try failed, and another request followed it. It has the name, the
 * message, the code and the plain fields of the first error, but is not of its class.
 */
export class ReplayedModelError extends AgentPersistenceError {
  override readonly code: string;

  constructor({ name, message, code = "model_request_failed", fields }: ModelFailure) {
    super(message);
    Object.assign(this, fields);
    this.name = name;
    this.code = code;
  }
}
