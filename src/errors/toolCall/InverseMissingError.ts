import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A call cannot be reverted: its tool had an inverse when the call was made, and none is registered now. */
export class InverseMissingError extends AgentPersistenceError {
  override readonly code = "inverse_missing";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
  ) {
    super(
      `Call ${toolCallId} of tool "${toolName}" had an inverse when it was made, but none is registered now. ` +
        `Register it in the rollbackToolRegistry under the same tool name, then roll back or run again.`,
    );
  }
}
