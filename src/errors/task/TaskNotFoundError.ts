import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** There is no task of this id. Nothing has changed. */
export class TaskNotFoundError extends AgentPersistenceError {
  readonly code = "task_not_found";
  readonly taskId: string;

  constructor(taskId: string) {
    super(
      `There is no task ${JSON.stringify(taskId)} in this storage. ` +
        `An agent that was run without a task is none: create one with tasks.create({ taskId, taskName, inputRequest }).`,
    );
    this.taskId = taskId;
  }
}
