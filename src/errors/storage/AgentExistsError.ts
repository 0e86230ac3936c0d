import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An agent is to be written where there is one of its id. Nothing has changed. */
export class AgentExistsError extends AgentPersistenceError {
  readonly code = "agent_exists";
  readonly agentId: string;

  constructor(agentId: string) {
    super(`There is an agent ${JSON.stringify(agentId)} already. Choose a storage that has none of that id.`);
    this.agentId = agentId;
  }
}
