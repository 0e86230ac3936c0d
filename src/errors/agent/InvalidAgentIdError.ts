import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A value, which need not be a string, cannot be an agent id. Nothing was read or written. */
export class InvalidAgentIdError extends AgentPersistenceError {
  override readonly code = "invalid_agent_id";

  constructor(
    readonly agentId: unknown,
    found: string,
  ) {
    super(`An agent id must be well-formed text of 1 to 1,024 bytes in UTF-8; found ${found}. Choose another id.`);
  }
}
