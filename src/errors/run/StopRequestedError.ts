import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The owner of an agent was requested to stop. The owner may still append before it releases the agent. */
export class StopRequestedError extends AgentPersistenceError {
  override readonly code = "stop_requested";

  constructor(
    readonly agentId: string,
    readonly reason: string,
  ) {
    super(`The owner of agent ${quoted(agentId)} must stop: ${reason}. Finish pending work and release the agent.`);
  }
}
