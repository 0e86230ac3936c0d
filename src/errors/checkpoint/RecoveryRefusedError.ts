import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An agent was not recovered: somebody said no, chose what cannot be done, or what is stored cannot be gone on from. */
export class RecoveryRefusedError extends AgentPersistenceError {
  readonly code = "recovery_refused";
  readonly agentId: string;
  readonly reason: string;

  constructor(agentId: string, reason: string) {
    super(`Agent ${JSON.stringify(agentId)} was not recovered: ${reason}. Nothing has changed.`);
    this.agentId = agentId;
    this.reason = reason;
  }
}
