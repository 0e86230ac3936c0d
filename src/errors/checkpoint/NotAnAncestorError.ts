import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A rollback target is not on the way to where the agent is. Nothing has changed. */
export class NotAnAncestorError extends AgentPersistenceError {
  readonly code = "not_an_ancestor";
  readonly agentId: string;
  readonly checkpointId: string;
  /** Ids that a rollback can go to, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(agentId: string, checkpointId: string, ancestors: readonly string[]) {
    const shown = ancestors.slice(-10);
    super(
      `Checkpoint ${JSON.stringify(checkpointId)} of agent ${JSON.stringify(agentId)} lies on a line that was left; a rollback goes back on the present one, ` +
        `for example to ${shown.map((id) => JSON.stringify(id)).join(", ")}. To go on from it, use resume({ checkpointId }).`,
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.available = shown;
  }
}
