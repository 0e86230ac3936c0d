import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * The run waits for a response to a request. The node that made the request can no longer use its context in this
 * process.
 */
export class RunSuspendedError extends AgentPersistenceError {
  override readonly code = "run_suspended";

  constructor(readonly nodeId: string) {
    super(
      `The context of node "${nodeId}" is closed, because the run waits for input that the node requested. Resume the run when the request is answered. The node then runs again from its start.`,
    );
  }
}
