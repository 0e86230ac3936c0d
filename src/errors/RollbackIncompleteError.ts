import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/**
 * A rollback that a crash had cut short was finished before the run, and not every call could be taken back. The agent
 * stands at the checkpoint; running or resuming again goes on from there.
 */
export class RollbackIncompleteError extends AgentPersistenceError {
  readonly code = "rollback_incomplete";
  readonly agentId: string;
  readonly checkpointId: string;
  /** Calls whose effects may stand, with why. */
  readonly failed: readonly { readonly toolCallId: string; readonly toolName: string; readonly error: unknown }[];

  constructor(agentId: string, checkpointId: string, failed: RollbackIncompleteError["failed"]) {
    const calls = failed.map(({ toolName, toolCallId }) => `${toolName} (${toolCallId})`).join(", ");
    super(
      `The rollback of agent ${JSON.stringify(agentId)} to checkpoint ${JSON.stringify(checkpointId)} was finished, ` +
        `and the effects of these calls may stand: ${calls}. Look at the outside world, then run or resume again.`,
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.failed = failed;
  }
}
