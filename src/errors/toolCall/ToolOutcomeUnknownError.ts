import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call that was in doubt after a crash was settled as unknown: it may or may not have taken effect. */
export class ToolOutcomeUnknownError extends AgentPersistenceError {
  override readonly code = "tool_outcome_unknown";
  /** The text that the model sees. */
  readonly reason: string =
    "It is not known whether this call had its effect: the process ended while it was made. " +
    "Find out before making it again.";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
  ) {
    super(
      `Call ${toolCallId} of tool "${toolName}" was settled as unknown: it may or may not have taken effect. ` +
        `Catch this error where the node can continue without the output, or settle the call again when you know.`,
    );
  }
}
