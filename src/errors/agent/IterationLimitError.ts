import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A run has visited as many nodes as its limit allows. */
export class IterationLimitError extends AgentPersistenceError {
  override readonly code = "iteration_limit";

  constructor(
    /** The limit, in node visits. */
    readonly maxIterations: number,
    /** The path of the node that would have been next. */
    readonly nodeId: string,
  ) {
    super(
      `The run reached its limit of ${maxIterations} node visits before node "${nodeId}". If it is not stuck in a loop, raise maxIterations of the agent and resume.`,
    );
  }
}
