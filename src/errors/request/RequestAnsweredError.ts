import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A request has its answer already. Nothing has changed. */
export class RequestAnsweredError extends AgentPersistenceError {
  override readonly code = "request_answered";
  readonly agentId: string;
  readonly requestId: string;

  constructor(agentId: string, requestId: string) {
    super(
      `The request ${requestId} of agent ${JSON.stringify(agentId)} has been answered already; the first answer counts. Resume the agent to go on with it.`,
    );
    this.agentId = agentId;
    this.requestId = requestId;
  }
}
