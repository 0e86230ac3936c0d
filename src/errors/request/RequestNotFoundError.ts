import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The agent does not wait for an answer to this request. Nothing has changed. */
export class RequestNotFoundError extends AgentPersistenceError {
  override readonly code = "request_not_found";
  readonly agentId: string;
  readonly requestId: string;
  /** The requests that it waits for. */
  readonly openRequests: readonly string[];

  constructor(agentId: string, requestId: string, openRequests: readonly string[]) {
    const open = openRequests.length === 0 ? "nothing" : openRequests.map((id) => JSON.stringify(id)).join(", ");
    super(
      `Agent ${JSON.stringify(agentId)} does not wait for an answer to request ${JSON.stringify(requestId)}; it waits for ${open}. A rollback, a new execution point and a new run drop the requests of before.`,
    );
    this.agentId = agentId;
    this.requestId = requestId;
    this.openRequests = openRequests;
  }
}
