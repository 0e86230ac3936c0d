import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A call cannot be reverted, because the inverse of its tool is no longer registered. */
export class InverseMissingError extends AgentPersistenceError {
  override readonly code = "inverse_missing";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
  ) {
    super(
      `Call ${toolCallId} of tool "${toolName}" cannot be reverted, because the inverse of the tool is no longer registered. ` +
        `Register the inverse in the rollbackToolRegistry under the same tool name, then roll back or run again.`,
    );
  }
}
