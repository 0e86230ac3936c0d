import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** What a task waited for did not come in time. */
export class WaitExpiredError extends AgentPersistenceError {
  readonly code = "wait_expired";
  readonly taskId: string;

  constructor(taskId: string) {
    super(
      `What task ${JSON.stringify(taskId)} waited for did not come in time. When it has come after all, queue it again with tasks.retry.`,
    );
    this.taskId = taskId;
  }
}
