import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The owner of an agent was asked to stop. It may still append before it releases the agent. */
export class StopRequestedError extends AgentPersistenceError {
  override readonly code = "stop_requested";

  constructor(
    readonly agentId: string,
    readonly reason: string,
  ) {
    super(
      `The owner of agent ${quoted(agentId)} was asked to stop: ${reason}. Finish pending work and release the agent.`,
    );
  }
}
