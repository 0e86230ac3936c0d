import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** The run has moved to another execution point, so the node that it left can no longer use its context. */
export class ExecutionMovedError extends AgentPersistenceError {
  override readonly code = "run_moved";

  constructor(
    /** The path of the node that the run left. */
    readonly nodeId: string,
    options?: ErrorCause,
  ) {
    super(
      `The run left node "${nodeId}" through a rollback or a new execution point, so the context of that node is closed. Return from the node right after the move.`,
      options,
    );
  }
}
