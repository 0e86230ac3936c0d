import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The storage has no task with this id. The stored state is unchanged. */
export class TaskNotFoundError extends AgentPersistenceError {
  override readonly code = "task_not_found";

  constructor(readonly taskId: string) {
    super(
      `The storage has no task ${quoted(taskId)}. ` +
        `An agent that ran without a task is not listed as a task. Create a task with tasks.create({ taskId, taskName, inputRequest }).`,
    );
  }
}
