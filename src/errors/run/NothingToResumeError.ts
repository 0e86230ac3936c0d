import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** There is no run to resume. Nothing has changed. */
export class NothingToResumeError extends AgentPersistenceError {
  readonly code = "nothing_to_resume";
  readonly agentId: string;

  constructor(agentId: string, reason: string) {
    super(
      `Agent ${JSON.stringify(agentId)} cannot be resumed: ${reason}. Begin a run with run(input, { agentId: ${JSON.stringify(agentId)} }).`,
    );
    this.agentId = agentId;
  }
}
