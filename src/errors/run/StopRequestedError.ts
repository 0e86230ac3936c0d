import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Somebody asked the owner of an agent to stop. The owner may still append before it releases the agent. */
export class StopRequestedError extends AgentPersistenceError {
  override readonly code = "stop_requested";
  readonly agentId: string;
  readonly reason: string;

  constructor(agentId: string, reason: string) {
    super(`Agent ${JSON.stringify(agentId)} was asked to stop: ${reason}. Finish what is in flight and release it.`);
    this.agentId = agentId;
    this.reason = reason;
  }
}
