import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A storage was asked for something that it has no method for. Nothing was changed. */
export class NotSupportedError extends AgentPersistenceError {
  override readonly code = "not_supported";

  constructor(
    /** What was asked for. */
    readonly operation: string,
    /** What the storage lacks. */
    readonly missing: string,
  ) {
    super(`${operation} needs ${missing}, which this storage does not have.`);
  }
}
