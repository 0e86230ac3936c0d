import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A `migrate` function threw. `cause` is the thrown value. The stored state is unchanged. */
export class MigrationFailedError extends AgentPersistenceError {
  override readonly code = "migration_failed";

  constructor(
    /** The version before the migration. */
    readonly from: number,
    /** The version after the migration. */
    readonly to: number,
    /** The message of the thrown error. */
    readonly reason: string,
    options: { readonly cause: unknown },
  ) {
    super(`The migration from version ${from} to ${to} threw: ${reason}`, options);
  }
}
