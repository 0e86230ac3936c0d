import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The tables of a storage are missing or of an older version, and it may not make them. Nothing was changed. */
export class StorageNotReadyError extends AgentPersistenceError {
  override readonly code = "storage_not_ready";

  constructor(
    /** Where the tables are looked for, such as a schema. */
    readonly subject: string,
    /** The version that was found; 0: none. */
    readonly found: number,
    /** The version that this library needs. */
    readonly needed: number,
  ) {
    const state = found === 0 ? "has no tables of agent-persistence" : `has its tables in version ${found}`;
    super(
      `${subject} ${state}; version ${needed} is needed. Run migrate() of the storage, or the statements of ` +
        `postgresMigrations(), with a role that may create tables.`,
    );
  }
}
