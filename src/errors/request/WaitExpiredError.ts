import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A task waited for an event that did not arrive in time. */
export class WaitExpiredError extends AgentPersistenceError {
  override readonly code = "wait_expired";

  constructor(readonly taskId: string) {
    super(
      `Task ${quoted(taskId)} timed out while waiting for an event. If the event has arrived since, queue the task again with tasks.retry.`,
    );
  }
}
