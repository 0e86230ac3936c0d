import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The agent that was to work on a task knows nothing of it: its storage is not that of the tasks. Nothing has changed. */
export class OtherStorageError extends AgentPersistenceError {
  readonly code = "other_storage";
  readonly taskId: string;
  readonly taskName: string;

  constructor(taskId: string, taskName: string) {
    super(
      `Task ${JSON.stringify(taskId)} is not in the storage of the agent for ${JSON.stringify(taskName)}: the agent was installed with another ` +
        `storage than the TaskManager. Give both the same one.`,
    );
    this.taskId = taskId;
    this.taskName = taskName;
  }
}
