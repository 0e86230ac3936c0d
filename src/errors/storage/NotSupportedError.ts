import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A storage does not implement the method that an operation requires. The stored state is unchanged. */
export class NotSupportedError extends AgentPersistenceError {
  override readonly code = "not_supported";

  constructor(
    readonly operation: string,
    /** The missing ability of the storage. */
    readonly missing: string,
  ) {
    super(`${operation} needs ${missing}, which this storage does not have.`);
  }
}
