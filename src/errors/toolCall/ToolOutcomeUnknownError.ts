import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** It is not known whether a tool call took effect: it was in doubt and settled so, or it was cut short by its timeout. */
export class ToolOutcomeUnknownError extends AgentPersistenceError {
  override readonly code = "tool_outcome_unknown";
  /** The text that the model sees. */
  readonly reason: string;

  /** @param timeoutMs the limit that the call has exceeded. Absent: it was settled, or the outcome was read back from a log. */
  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    readonly timeoutMs?: number,
  ) {
    const what =
      timeoutMs === undefined ? "was interrupted, and its outcome is unknown" : `did not end within ${timeoutMs} ms`;
    super(
      `Call ${toolCallId} of tool "${toolName}" ${what}: it may or may not have taken effect. ` +
        `Catch this error where the node can continue without the output, or settle the call again when you know.`,
    );
    this.reason =
      `It is not known whether this call had its effect: it ${timeoutMs === undefined ? "was interrupted" : what}. ` +
      "Find out before making it again.";
  }
}
