import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** What a task waited for did not arrive in time. */
export class WaitExpiredError extends AgentPersistenceError {
  override readonly code = "wait_expired";

  constructor(readonly taskId: string) {
    super(
      `What task ${JSON.stringify(taskId)} waited for did not arrive in time. If it has arrived since, queue the task again with tasks.retry.`,
    );
  }
}
