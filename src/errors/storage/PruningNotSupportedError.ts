import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * An operation such as `prune()` deletes data, which a three-method storage cannot do. The stored state is unchanged.
 */
export class PruningNotSupportedError extends AgentPersistenceError {
  override readonly code = "pruning_not_supported";

  constructor(readonly operation: string) {
    super(
      `${operation} requires a storage that can delete, which a three-method storage cannot do. Delete rows with the tools of the database while the agent is not running, or use a storage with a log, such as FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider.`,
    );
  }
}
