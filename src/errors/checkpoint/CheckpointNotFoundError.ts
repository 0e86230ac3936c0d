import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";

/** The agent has no checkpoint with this id, or none at all. Nothing has changed. */
export class CheckpointNotFoundError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_found";
  /** The ids of the newest checkpoints, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** `undefined` when you asked for the latest checkpoint. */
    readonly checkpointId: string | undefined,
    available: readonly string[],
  ) {
    const missing = checkpointId === undefined ? "no checkpoint" : `no checkpoint ${JSON.stringify(checkpointId)}`;
    const newest = available.slice(-10);
    const next =
      newest.length === 0
        ? "It has none at all: check that it has run, and that a storage is configured."
        : `Choose one of the newest: ${quotedList(newest)}.`;
    super(`Agent ${JSON.stringify(agentId)} has ${missing}. ${next}`);
    this.available = newest;
  }
}
