import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Something that the stored run can still run has changed in the code of the agent, or of an agent that it calls. Nothing has changed in the log. */
export class StrategyChangedError extends AgentPersistenceError {
  override readonly code = "strategy_changed";

  constructor(
    readonly agentId: string,
    /** One text for each difference, such as `node "check" is gone`. */
    readonly differences: readonly string[],
    /** The names of the tools that lead to the agent whose strategy has changed. Empty: it is the agent itself. */
    readonly agentPath: readonly string[] = [],
  ) {
    const id = quoted(agentId);
    const wasStored = `was stored with another strategy: ${differences.join("; ")}. `;
    super(
      agentPath.length > 0
        ? `The agent that tool "${agentPath.join("/")}" of agent ${id} calls ${wasStored}` +
            `Add a migration that leads to this one, resume it with that strategy, or roll ${id} back to before the call.`
        : `Agent ${id} ${wasStored}` +
            `Resume it with the strategy that it started with. Or raise the version of this one, and add a migration that leads to it: ` +
            `install(Persistence, { migrations: [{ from, to, nodes, tools }] }). Or continue it at a node of this one: ` +
            `persistence(agent).agent(${id}).setExecutionPoint({ nodeId, input }), then resume. ` +
            `Or begin its run anew, and keep the effects that it had: run(input, { unfinished: "abandon" }).`,
    );
  }
}
