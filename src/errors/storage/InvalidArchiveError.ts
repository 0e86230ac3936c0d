import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** `importAgent` received an incomplete or damaged archive. The agent was not imported. */
export class InvalidArchiveError extends AgentPersistenceError {
  override readonly code = "invalid_archive";

  constructor(
    /** A description of the problem. */
    readonly found: string,
    options?: ErrorCause,
  ) {
    super(`The archive cannot be imported: ${found}. Export the agent again.`, options);
  }
}
