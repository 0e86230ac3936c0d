import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A graph cannot run because of the way it is built. */
export class InvalidStrategyError extends AgentPersistenceError {
  override readonly code = "invalid_strategy";

  constructor(
    /** The name of the strategy or subgraph. */
    readonly graph: string,
    /** The mistake and the fix. */
    readonly problem: string,
  ) {
    super(`The graph "${graph}" is not valid: ${problem}`);
  }
}
