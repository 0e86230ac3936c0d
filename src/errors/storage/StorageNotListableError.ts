import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Tasks need a storage that lists its agents, and a three-method storage cannot. */
export class StorageNotListableError extends AgentPersistenceError {
  override readonly code = "storage_not_listable";

  constructor() {
    super(
      "Tasks need a storage that lists its agents and tells their owners apart. Use one with a RecordLog, such as " +
        "FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider; " +
        "for your own storage, implement RecordLog and wrap it in LogPersistenceStorageProvider.",
    );
  }
}
