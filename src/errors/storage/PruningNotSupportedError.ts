import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Something was to be thrown away from a storage of three methods, which can only keep. Nothing has changed. */
export class PruningNotSupportedError extends AgentPersistenceError {
  override readonly code = "pruning_not_supported";
  /** What was asked for, such as `prune()`. */
  readonly operation: string;

  constructor(operation: string) {
    super(
      `${operation} needs a storage that can throw something away. This one has three methods, which only keep: remove rows with its own means while nobody runs the agent, or use a storage with a log, such as FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider.`,
    );
    this.operation = operation;
  }
}
