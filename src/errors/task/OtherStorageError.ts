import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A worker's agent cannot find its task, because agent and tasks use different storages. Nothing has changed. */
export class OtherStorageError extends AgentPersistenceError {
  override readonly code = "other_storage";

  constructor(
    readonly taskId: string,
    /** The name that the worker found the agent under. */
    readonly taskName: string,
  ) {
    super(
      `Task ${quoted(taskId)} is not in the storage of the agent for ${quoted(taskName)}: the agent was installed with another ` +
        `storage than the TaskManager. Give both the same storage.`,
    );
  }
}
