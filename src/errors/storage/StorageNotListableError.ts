import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Tasks require a storage that lists its agents. A three-method storage cannot do that. */
export class StorageNotListableError extends AgentPersistenceError {
  override readonly code = "storage_not_listable";

  constructor() {
    super(
      "Tasks require a storage that can list agents and lock them for one owner. Use a storage with a RecordLog, such as " +
        "FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider. " +
        "For a custom storage, implement RecordLog and wrap it in LogPersistenceStorageProvider.",
    );
  }
}
