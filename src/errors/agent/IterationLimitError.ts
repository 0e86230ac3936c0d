import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A run reached the maximum number of node executions. */
export class IterationLimitError extends AgentPersistenceError {
  override readonly code = "iteration_limit";

  constructor(
    /** The limit, in node executions. */
    readonly maxIterations: number,
    /** The path of the node that would run next. */
    readonly nodeId: string,
  ) {
    super(
      `The run reached its limit of ${maxIterations} node executions before node "${nodeId}". If it is not stuck in a loop, raise maxIterations of the agent and resume.`,
    );
  }
}
