import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An operation, such as `prune()`, needs to delete from a three-method storage, which cannot. Nothing has changed. */
export class PruningNotSupportedError extends AgentPersistenceError {
  override readonly code = "pruning_not_supported";

  constructor(readonly operation: string) {
    super(
      `${operation} needs a storage that can delete, and a three-method storage cannot. Delete rows with the storage's own tools while nothing runs the agent, or use a storage with a log, such as FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider.`,
    );
  }
}
