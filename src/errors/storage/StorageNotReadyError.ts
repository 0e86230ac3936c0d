import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * The tables of a storage are missing or outdated, and the storage is not allowed to create them. The database is
 * unchanged.
 */
export class StorageNotReadyError extends AgentPersistenceError {
  override readonly code = "storage_not_ready";

  constructor(
    /** The searched location, such as a schema. */
    readonly subject: string,
    /** The version in the database, or 0 if the tables are missing. */
    readonly found: number,
    /** The version that this library requires. */
    readonly needed: number,
  ) {
    const state = found === 0 ? "has no tables of agent-persistence" : `has its tables in version ${found}`;
    super(
      `${subject} ${state}, but version ${needed} is required. Run migrate() of the storage, or the statements of ` +
        `postgresMigrations(), with a role that may create tables.`,
    );
  }
}
