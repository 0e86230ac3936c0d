import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The stored run belongs to a strategy other than the agent's. Nothing has changed. */
export class StrategyChangedError extends AgentPersistenceError {
  override readonly code = "strategy_changed";

  constructor(
    readonly agentId: string,
    /** One text for each difference, such as `node "check" is gone`. */
    readonly differences: readonly string[],
  ) {
    const id = JSON.stringify(agentId);
    super(
      `Agent ${id} was stored with another strategy: ${differences.join("; ")}. ` +
        `Resume it with the strategy that it started with. Or continue it at a node of this one: ` +
        `persistence(agent).agent(${id}).setExecutionPoint({ nodeId, input }), then resume. ` +
        `Or begin its run anew, and keep the effects that it had: run(input, { unfinished: "abandon" }).`,
    );
  }
}
