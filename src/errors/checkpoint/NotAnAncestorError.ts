import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** A rollback target is not an ancestor of the agent's current checkpoint. Nothing has changed. */
export class NotAnAncestorError extends AgentPersistenceError {
  override readonly code = "not_an_ancestor";
  /** The ids of the newest checkpoints that a rollback can go to, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** The checkpoint that was to be rolled back to. */
    readonly checkpointId: string,
    ancestors: readonly string[],
    /** The branch that it belongs to, if that has been joined. */
    joinedBranch?: string,
  ) {
    const newest = ancestors.slice(-10);
    const problem =
      joinedBranch === undefined
        ? "is on no way to where the agent is, or the line that asks, so it cannot be rolled back to"
        : `belongs to branch ${quoted(joinedBranch)}, which has been joined`;
    super(
      `Checkpoint ${quoted(checkpointId)} of agent ${quoted(agentId)} ${problem}. ` +
        `Roll back to an ancestor, such as ${quotedList(newest)}. To continue from a checkpoint of the main line and revert nothing, call resume({ checkpointId }).`,
    );
    this.available = newest;
  }
}
