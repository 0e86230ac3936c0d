import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Tasks were to be kept in a storage of three methods, which cannot say which there are. */
export class StorageNotListableError extends AgentPersistenceError {
  readonly code = "storage_not_listable";

  constructor() {
    super(
      "Tasks need a storage that lists its agents and tells their owners apart: one with a RecordLog, such as " +
        "FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider. " +
        "A provider of three methods becomes one by implementing RecordLog and wrapping it in LogPersistenceStorageProvider.",
    );
  }
}
