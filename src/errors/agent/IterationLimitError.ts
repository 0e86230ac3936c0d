import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A run visited as many nodes as it may. */
export class IterationLimitError extends AgentPersistenceError {
  override readonly code = "iteration_limit";
  readonly maxIterations: number;
  /** The node that would have been next. */
  readonly nodeId: string;

  constructor(maxIterations: number, nodeId: string) {
    super(
      `The run reached its limit of ${maxIterations} node visits before node "${nodeId}". If it does not go in circles, raise maxIterations of the agent and resume.`,
    );
    this.maxIterations = maxIterations;
    this.nodeId = nodeId;
  }
}
