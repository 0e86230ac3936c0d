import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An answer names another tool call than the one that waits for approval. Nothing has changed. */
export class ApprovalChangedError extends AgentPersistenceError {
  override readonly code = "approval_changed";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    /** The digest of the call that waits; absent: the request asks for input, not for an approval. */
    readonly digest: string | undefined,
  ) {
    const request = `equest ${quoted(requestId)} of agent ${quoted(agentId)}`;
    super(
      digest === undefined
        ? `R${request} asks for input and has no digest. Leave digest out.`
        : `The answer to r${request} is for another tool call than the one that waits (${digest}). Show the person what getRequests() lists now, and answer with its digest.`,
    );
  }
}
