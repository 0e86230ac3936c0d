import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The run is waiting for an answer, so the node that asked can no longer use its context in this process. */
export class RunSuspendedError extends AgentPersistenceError {
  override readonly code = "run_suspended";

  constructor(readonly nodeId: string) {
    super(
      `The run is waiting for the input that node "${nodeId}" asked for, so the context of that node is closed. Resume the run when the answer is there: the node then runs again from its start.`,
    );
  }
}
