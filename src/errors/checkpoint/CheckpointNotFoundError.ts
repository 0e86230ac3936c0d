import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The agent has no checkpoint of this id, or none at all. Nothing has changed. */
export class CheckpointNotFoundError extends AgentPersistenceError {
  readonly code = "checkpoint_not_found";
  readonly agentId: string;
  /** Absent when the latest was asked for. */
  readonly checkpointId: string | undefined;
  /** Ids that would have been right, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(agentId: string, checkpointId: string | undefined, available: readonly string[]) {
    const what = checkpointId === undefined ? "no checkpoint" : `no checkpoint ${JSON.stringify(checkpointId)}`;
    const shown = available.slice(-10);
    const others =
      shown.length === 0
        ? "It has none: is a storage configured?"
        : `Its newest are ${shown.map((id) => JSON.stringify(id)).join(", ")}.`;
    super(`Agent ${JSON.stringify(agentId)} has ${what}. ${others}`);
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.available = shown;
  }
}
