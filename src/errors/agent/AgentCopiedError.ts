import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * The agent was imported as a copy with the id of the original, and the original may still run. The stored state is
 * unchanged.
 */
export class AgentCopiedError extends AgentPersistenceError {
  override readonly code = "agent_copied";

  constructor(readonly agentId: string) {
    super(
      `Agent ${quoted(agentId)} is a copy, and its original may still run under the same id. ` +
        `If the original no longer runs, pass takeOver: true to run() or resume(), or call takeOver().`,
    );
  }
}
