import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The run goes on elsewhere; what belonged to the node it left cannot be used any more. */
export class ExecutionMovedError extends AgentPersistenceError {
  override readonly code = "run_moved";
  /** The node that was left. */
  readonly nodeId: string;

  constructor(nodeId: string, options?: { readonly cause?: unknown }) {
    super(
      `The run has left node "${nodeId}" by a rollback or a new execution point, so its context is closed. Return from the node right after the move.`,
      options,
    );
    this.nodeId = nodeId;
  }
}
