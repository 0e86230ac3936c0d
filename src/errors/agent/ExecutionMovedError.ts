import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A node used its context after the run left the node, because the node finished or the execution point moved. */
export class ExecutionMovedError extends AgentPersistenceError {
  override readonly code = "run_moved";

  constructor(
    /** The path of the node that the run left. */
    readonly nodeId: string,
    options?: ErrorCause,
  ) {
    super(
      `The context of node "${nodeId}" is closed, because the node finished or the execution point moved. Use a context only until its node finishes, and return from the node right after a move.`,
      options,
    );
  }
}
