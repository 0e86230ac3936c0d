import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call was in doubt after a crash and was settled as not known: it may or may not have had its effect. */
export class ToolOutcomeUnknownError extends AgentPersistenceError {
  override readonly code = "tool_outcome_unknown";
  readonly toolName: string;
  readonly toolCallId: string;
  /** What the model is told. */
  readonly reason: string =
    "It is not known whether this call had its effect: the process ended while it was made. " +
    "Find out before making it again.";

  constructor(toolName: string, toolCallId: string) {
    super(
      `It is not known whether call ${toolCallId} of the tool "${toolName}" had its effect: it was settled as unknown. ` +
        `Catch this where the node can go on without its output, or settle the call again when you know.`,
    );
    this.toolName = toolName;
    this.toolCallId = toolCallId;
  }
}
