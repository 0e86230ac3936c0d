import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A strategy is not put together correctly. */
export class InvalidStrategyError extends AgentPersistenceError {
  override readonly code = "invalid_strategy";
  /** The strategy or subgraph. */
  readonly graph: string;
  readonly problem: string;

  constructor(graph: string, problem: string) {
    super(`The graph "${graph}" is not valid: ${problem}`);
    this.graph = graph;
    this.problem = problem;
  }
}
