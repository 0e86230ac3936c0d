import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A text that cannot be an agent id. Nothing was touched. */
export class InvalidAgentIdError extends AgentPersistenceError {
  override readonly code = "invalid_agent_id";
  readonly agentId: unknown;

  constructor(agentId: unknown, found: string) {
    super(`An agent id must be well-formed text of 1 to 1,024 bytes in UTF-8; found ${found}. Give another id.`);
    this.agentId = agentId;
  }
}
