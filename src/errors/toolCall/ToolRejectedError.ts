import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Somebody rejected a tool call that needed an approval, or nobody approved it in time. The call was not made. */
export class ToolRejectedError extends AgentPersistenceError {
  override readonly code = "tool_rejected";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The reason that was given for the rejection. */
    readonly reason: string,
    /** Who rejected it, as the caller of `reject` or `answer` said; absent: nobody said, or it expired. */
    readonly by?: string,
  ) {
    super(
      `The call of tool "${toolName}" was not made. The call was rejected: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. A resume fails with it again; to ask anew, roll back to a checkpoint before the call.`,
    );
  }
}
