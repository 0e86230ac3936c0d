import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The stored run belongs to a strategy other than the agent's. Nothing has changed. */
export class StrategyChangedError extends AgentPersistenceError {
  override readonly code = "strategy_changed";

  constructor(
    readonly agentId: string,
    /** One text for each difference, such as `node "check" is gone`. */
    readonly differences: readonly string[],
  ) {
    super(
      `Agent ${JSON.stringify(agentId)} was stored with another strategy: ${differences.join("; ")}. ` +
        `Resume it with the strategy that it started with, or end its run with unfinished: "abandon".`,
    );
  }
}
