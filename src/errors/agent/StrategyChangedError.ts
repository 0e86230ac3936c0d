import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The agent was stored with another strategy than the one that is to go on. Nothing has changed. */
export class StrategyChangedError extends AgentPersistenceError {
  readonly code = "strategy_changed";
  readonly agentId: string;
  /** One line for each difference, such as `node "check" is gone`. */
  readonly differences: readonly string[];

  constructor(agentId: string, differences: readonly string[]) {
    super(
      `Agent ${JSON.stringify(agentId)} was stored with another strategy: ${differences.join("; ")}. ` +
        `Resume it with the strategy it began with, or end its run with unfinished: "abandon".`,
    );
    this.agentId = agentId;
    this.differences = differences;
  }
}
