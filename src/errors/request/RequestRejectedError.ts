import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A person or system rejected a request for input. The node may catch this error. */
export class RequestRejectedError extends AgentPersistenceError {
  override readonly code = "request_rejected";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    readonly reason: string,
    /** The `by` value of the `reject` call. Omitted if the caller gave none. */
    readonly by?: string,
  ) {
    super(
      `Request ${quoted(requestId)} of agent ${quoted(agentId)} was rejected: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. Resuming fails with the same error. To repeat the request, roll back to a checkpoint before it.`,
    );
  }
}
