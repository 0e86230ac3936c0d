import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * The code of the agent, or of an agent that it calls, changed in a part that the stored run still needs. The log is
 * unchanged.
 */
export class StrategyChangedError extends AgentPersistenceError {
  override readonly code = "strategy_changed";

  constructor(
    readonly agentId: string,
    /** One text per difference, such as `node "check" is gone`. */
    readonly differences: readonly string[],
    /**
     * The names of the tools that call the agent with the changed strategy, outermost first. Empty for the agent
     * itself.
     */
    readonly agentPath: readonly string[] = [],
  ) {
    const id = quoted(agentId);
    const wasStored = `was stored with another strategy: ${differences.join("; ")}. `;
    super(
      agentPath.length > 0
        ? `The agent that tool "${agentPath.join("/")}" of agent ${id} calls ${wasStored}` +
            `Add a migration to the current strategy, resume with the stored strategy, or roll ${id} back to a checkpoint before the call.`
        : `Agent ${id} ${wasStored}` +
            `Resume it with the stored strategy. Or raise the version of the current strategy and add a migration: ` +
            `install(Persistence, { migrations: [{ from, to, nodes, tools }] }). Or continue it at a node of the current strategy: ` +
            `persistence(agent).agent(${id}).setExecutionPoint({ nodeId, input }), then resume. ` +
            `Or keep the effects of the run and start a new run: run(input, { unfinished: "abandon" }).`,
    );
  }
}
