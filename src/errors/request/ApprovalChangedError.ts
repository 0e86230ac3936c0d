import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A response refers to a different tool call than the call that waits for approval. The stored state is unchanged. */
export class ApprovalChangedError extends AgentPersistenceError {
  override readonly code = "approval_changed";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    /** The digest of the waiting call. `undefined` if the request is for input instead of an approval. */
    readonly digest: string | undefined,
  ) {
    const request = `equest ${quoted(requestId)} of agent ${quoted(agentId)}`;
    super(
      digest === undefined
        ? `R${request} is a request for input and has no digest. Omit the digest.`
        : `The answer to r${request} has the digest of another tool call. The waiting call has the digest ${digest}. Show the person the current result of getRequests(), and answer with that digest.`,
    );
  }
}
