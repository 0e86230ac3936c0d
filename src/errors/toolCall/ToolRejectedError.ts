import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Somebody rejected a tool call that needed an approval, or nobody approved it in time. The call was not made. */
export class ToolRejectedError extends AgentPersistenceError {
  override readonly code = "tool_rejected";
  /** What the model sees. */
  readonly reason: string;

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The reason that was given for the rejection. */
    given: string,
    /** Who rejected it, as the caller of `reject` or `answer` said; absent: nobody said, or it expired. */
    readonly by?: string,
  ) {
    const reason = `The call was rejected: ${given}`;
    super(`The call of tool "${toolName}" was not made. ${reason}`);
    this.reason = reason;
  }
}
