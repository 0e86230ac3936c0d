import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** There is no unfinished run to cancel. Nothing has changed. */
export class NothingToCancelError extends AgentPersistenceError {
  override readonly code = "nothing_to_cancel";
  readonly agentId: string;

  constructor(agentId: string, reason: string) {
    super(`Agent ${JSON.stringify(agentId)} has no run to cancel: ${reason}.`);
    this.agentId = agentId;
  }
}
