/** An answer that approves a tool call, with the request that the answer belongs to. */
export interface CheckedApproval {
  /** The id of the agent that requested the approval. */
  readonly agentId: string;
  readonly requestId: string;
  /** When the request was first made, in ISO 8601. */
  readonly askedAt: string;
  /** The digest of the tool's name and the input. */
  readonly digest: string;
  /** `undefined` if the answer names no person. */
  readonly by: string | undefined;
  readonly answer: { readonly approved: true; readonly reason?: string; readonly signature?: string };
}

/** Decides which approvals count, such as `signedApprovals()` of `agent-persistence/seals`. */
export interface ApprovalVerifier {
  /**
   * Returns whether an approval counts. Called when a request is answered, and again before the approved call starts,
   * because anyone who can write the storage can write an answer.
   */
  verify(approval: CheckedApproval): boolean | PromiseLike<boolean>;
}
