import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A value cannot be used as an agent id. The storage was neither read nor written. */
export class InvalidAgentIdError extends AgentPersistenceError {
  override readonly code = "invalid_agent_id";

  constructor(
    readonly agentId: unknown,
    found: string,
  ) {
    super(`An agent id must be well-formed text of 1 to 1,024 bytes in UTF-8, but found ${found}. Choose another id.`);
  }
}
