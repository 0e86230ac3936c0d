import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/** A node that runs again asks for something else than was recorded, and effects of its first try stand. */
export class ReplayDivergedError extends AgentPersistenceError {
  readonly code = "replay_diverged";
  readonly nodeId: string;
  /** The call that was recorded at this place. */
  readonly toolCallId: string;
  readonly recorded: string;
  readonly found: string;

  constructor(nodeId: string, toolCallId: string, recorded: string, found: string) {
    super(
      `Node "${nodeId}" runs again and asks for ${found}, where ${recorded} (call ${toolCallId}) is recorded with its effect. ` +
        `Make the node ask for the same again, or roll back to a checkpoint before it to take the effect back.`,
    );
    this.nodeId = nodeId;
    this.toolCallId = toolCallId;
    this.recorded = recorded;
    this.found = found;
  }
}
