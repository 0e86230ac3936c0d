import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A tool threw. `cause` is the thrown value. It is omitted if the failure was read from a log. */
export class ToolFailedError extends AgentPersistenceError {
  override readonly code = "tool_failed";

  /**
   * The ids of the calls whose failures caused this one, if the failure was read from a log. Omitted if `cause` has
   * them or no call caused the failure.
   */
  readonly failedCalls?: readonly string[];

  /**
   * The name of the error that the tool threw, if the failure was read from a log. Empty if the tool threw another
   * value. Omitted if the name is `Error` or `cause` has it.
   */
  readonly errorName?: string;

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The message of the thrown error, which is sent to the model. */
    readonly reason: string,
    options: ErrorCause & Pick<ToolFailedError, "failedCalls" | "errorName"> = {},
  ) {
    super(`The tool "${toolName}" failed: ${reason}`, options);
    if (options.failedCalls) this.failedCalls = options.failedCalls;
    if (options.errorName !== undefined) this.errorName = options.errorName;
  }
}
