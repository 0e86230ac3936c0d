import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A call cannot be taken back: its tool had an inverse when the call was made, and none is registered now. */
export class InverseMissingError extends AgentPersistenceError {
  override readonly code = "inverse_missing";
  readonly toolName: string;
  readonly toolCallId: string;

  constructor(toolName: string, toolCallId: string) {
    super(
      `Call ${toolCallId} of the tool "${toolName}" had an inverse when it was made, and none is registered now. ` +
        `Register it in the rollbackToolRegistry, under the same tool name, and roll back or run again.`,
    );
    this.toolName = toolName;
    this.toolCallId = toolCallId;
  }
}
