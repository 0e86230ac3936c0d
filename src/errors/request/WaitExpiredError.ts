import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** What a task waited for did not arrive in time. */
export class WaitExpiredError extends AgentPersistenceError {
  override readonly code = "wait_expired";

  constructor(readonly taskId: string) {
    super(
      `What task ${quoted(taskId)} waited for did not arrive in time. If it has arrived since, queue the task again with tasks.retry.`,
    );
  }
}
