import type { ModelFailure } from "../../checkpoint/records/callRecords.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";

/**
 * The recorded failure of a model request, thrown when the node runs again. In the first attempt, the node caught the
 * failure and made another request. The error has the name, message, code and plain fields of the original error, but
 * not its class.
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
