import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call was rejected, or its approval did not arrive in time. The tool did not run. */
export class ToolRejectedError extends AgentPersistenceError {
  override readonly code = "tool_rejected";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The reason for the rejection. */
    readonly reason: string,
    /** The `by` value of the `reject` or `answer` call. Omitted if the caller gave none or the approval expired. */
    readonly by?: string,
  ) {
    super(
      `The call of tool "${toolName}" was rejected and not made: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. Resuming fails with the same error. To repeat the request, roll back to a checkpoint before the call.`,
    );
  }
}
