import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Somebody rejected a request for input. The node may catch this. */
export class RequestRejectedError extends AgentPersistenceError {
  override readonly code = "request_rejected";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    readonly reason: string,
    /** Who rejected it, as the caller of `reject` said; absent: nobody said. */
    readonly by?: string,
  ) {
    super(
      `Request ${quoted(requestId)} of agent ${quoted(agentId)} was rejected: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. A resume fails with it again; to ask anew, roll back to a checkpoint before the request.`,
    );
  }
}
