import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call possibly took effect. Either it was in doubt and settled as `unknown`, or it timed out. */
export class ToolOutcomeUnknownError extends AgentPersistenceError {
  override readonly code = "tool_outcome_unknown";
  /** The text that is sent to the model. */
  readonly reason: string;

  /**
   * @param timeoutMs - the exceeded time limit, in milliseconds. Omitted if the call was settled or its outcome was
   * read from a log.
   */
  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    readonly timeoutMs?: number,
  ) {
    const what =
      timeoutMs === undefined ? "was interrupted, and its outcome is unknown" : `did not end within ${timeoutMs} ms`;
    super(
      `Call ${toolCallId} of tool "${toolName}" ${what}. It possibly took effect. ` +
        `Catch this error if the node can continue without the output, or settle the call again when you know the outcome.`,
    );
    this.reason =
      `It is not known whether this call had its effect: it ${timeoutMs === undefined ? "was interrupted" : what}. ` +
      "Find out before making it again.";
  }
}
