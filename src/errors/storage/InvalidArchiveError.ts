import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** What was given to `importAgent` is no whole and sound archive of an agent. Nothing was imported. */
export class InvalidArchiveError extends AgentPersistenceError {
  override readonly code = "invalid_archive";

  constructor(
    /** What is wrong with it. */
    readonly found: string,
    options?: ErrorCause,
  ) {
    super(`The archive cannot be imported: ${found}. Export the agent again.`, options);
  }
}
