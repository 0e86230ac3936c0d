import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A graph is built in a way that cannot run. */
export class InvalidStrategyError extends AgentPersistenceError {
  override readonly code = "invalid_strategy";

  constructor(
    /** The name of the strategy or subgraph. */
    readonly graph: string,
    /** What is wrong and what to change. */
    readonly problem: string,
  ) {
    super(`The graph "${graph}" is not valid: ${problem}`);
  }
}
