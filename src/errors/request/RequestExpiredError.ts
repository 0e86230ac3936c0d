import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Nobody answered a request in time. A node may catch it; the run fails otherwise, and asks anew when it is resumed after that. */
export class RequestExpiredError extends AgentPersistenceError {
  override readonly code = "request_expired";
  readonly agentId: string;
  readonly requestId: string;
  /** ISO 8601. */
  readonly expiredAt: string;

  constructor(agentId: string, requestId: string, expiredAt: string) {
    super(
      `The request ${requestId} of agent ${JSON.stringify(agentId)} expired at ${expiredAt} without an answer. The node that asked gets this error when the agent is resumed, and may catch it; a run that failed with it asks anew when it is resumed.`,
    );
    this.agentId = agentId;
    this.requestId = requestId;
    this.expiredAt = expiredAt;
  }
}
