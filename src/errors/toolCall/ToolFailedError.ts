import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A tool threw. `cause` is what it threw; absent when the failure was read back from a log. */
export class ToolFailedError extends AgentPersistenceError {
  override readonly code = "tool_failed";

  /**
   * The ids of the calls whose failures this one came of, when it was read back from a log. Absent: it came of none, or
   * `cause` has them.
   */
  readonly failedCalls?: readonly string[];

  /**
   * The name of the error that the tool threw, when it was read back from a log; empty if the tool threw something else.
   * Absent: it was `Error`, or `cause` has it.
   */
  readonly errorName?: string;

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The message of what the tool threw; this is what the model sees. */
    readonly reason: string,
    options: ErrorCause & Pick<ToolFailedError, "failedCalls" | "errorName"> = {},
  ) {
    super(`The tool "${toolName}" failed: ${reason}`, options);
    if (options.failedCalls) this.failedCalls = options.failedCalls;
    if (options.errorName !== undefined) this.errorName = options.errorName;
  }
}
