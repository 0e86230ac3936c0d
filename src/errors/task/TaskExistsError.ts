import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A task was to be created for an agent that is there already. Nothing has changed. */
export class TaskExistsError extends AgentPersistenceError {
  readonly code = "task_exists";
  readonly taskId: string;

  constructor(taskId: string) {
    super(
      `There is already an agent or a task ${JSON.stringify(taskId)} in this storage. Give the new task another taskId, or none: then it gets one of its own.`,
    );
    this.taskId = taskId;
  }
}
