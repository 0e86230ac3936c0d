import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * A worker's agent cannot find its task, because the agent and the tasks use different storages. The stored state is
 * unchanged.
 */
export class OtherStorageError extends AgentPersistenceError {
  override readonly code = "other_storage";

  constructor(
    readonly taskId: string,
    /** The name that maps the task to the agent. */
    readonly taskName: string,
  ) {
    super(
      `Task ${quoted(taskId)} is not in the storage of the agent for ${quoted(taskName)}, ` +
        `because the agent and the TaskManager use different storages. Give both the same storage.`,
    );
  }
}
