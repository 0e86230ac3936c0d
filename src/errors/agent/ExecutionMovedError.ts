import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** The run has left a node: the node has ended, or the run has moved. So the node can no longer use its context. */
export class ExecutionMovedError extends AgentPersistenceError {
  override readonly code = "run_moved";

  constructor(
    /** The path of the node that the run left. */
    readonly nodeId: string,
    options?: ErrorCause,
  ) {
    super(
      `The run left node "${nodeId}", because the node ended or the run moved, so the context of that node is closed. Use a context only until its node ends, and return from the node right after a move.`,
      options,
    );
  }
}
