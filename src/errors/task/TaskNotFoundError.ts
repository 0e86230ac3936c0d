import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The storage has no task with this id. Nothing has changed. */
export class TaskNotFoundError extends AgentPersistenceError {
  override readonly code = "task_not_found";

  constructor(readonly taskId: string) {
    super(
      `The storage has no task ${quoted(taskId)}. ` +
        `An agent that was run without a task is not a task: create one with tasks.create({ taskId, taskName, inputRequest }).`,
    );
  }
}
