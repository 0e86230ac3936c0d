import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A checkpoint cannot be saved under an id or version that is taken. Nothing has changed. */
export class CheckpointExistsError extends AgentPersistenceError {
  readonly code = "checkpoint_exists";
  readonly agentId: string;
  readonly checkpointId: string;

  constructor(agentId: string, checkpointId: string, reason: string) {
    super(`Checkpoint ${JSON.stringify(checkpointId)} of agent ${JSON.stringify(agentId)} cannot be saved: ${reason}.`);
    this.agentId = agentId;
    this.checkpointId = checkpointId;
  }
}
