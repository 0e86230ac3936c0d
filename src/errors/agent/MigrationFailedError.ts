import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A `migrate` function threw. `cause` is what it threw. Nothing has changed. */
export class MigrationFailedError extends AgentPersistenceError {
  override readonly code = "migration_failed";

  constructor(
    /** The version that the migration begins at. */
    readonly from: number,
    /** The version that it leads to. */
    readonly to: number,
    /** The message of what it threw. */
    readonly reason: string,
    options: { readonly cause: unknown },
  ) {
    super(`The migration from version ${from} to ${to} threw: ${reason}`, options);
  }
}
