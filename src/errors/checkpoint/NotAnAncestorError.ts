import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/**
 * The reason why a rollback cannot go to a checkpoint on an abandoned branch.
 *
 * - `outside`: only a rollback from outside a run can go there.
 * - `nested`: the checkpoint is not on the main line.
 * - `open`: another rollback is unfinished.
 * - `unrelated`: the checkpoint and the head have no common ancestor.
 */
export type RedoObstacle = "outside" | "nested" | "open" | "unrelated";

interface Refusal {
  readonly obstacle: RedoObstacle;
  /** The branch of the checkpoint, if a parallel node already joined it. */
  readonly joinedBranch?: string | undefined;
  /** The target of the unfinished rollback. */
  readonly openTo?: string | undefined;
}

/**
 * The target of a rollback is not an ancestor of the current checkpoint and cannot be reached by a redo. The stored
 * state is unchanged.
 */
export class NotAnAncestorError extends AgentPersistenceError {
  override readonly code = "not_an_ancestor";
  /** The ids of the newest valid targets, newest last. At most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** The requested target. */
    readonly checkpointId: string,
    ancestors: readonly string[],
    refusal: Refusal,
  ) {
    const newest = ancestors.slice(-10);
    super(
      `Checkpoint ${quoted(checkpointId)} of agent ${quoted(agentId)} ${problemOf(agentId, refusal)} ` +
        `Roll back to an ancestor, such as ${quotedList(newest)}. To continue from a checkpoint of the main line without reverting effects, call resume({ checkpointId }).`,
    );
    this.available = newest;
  }
}

function problemOf(agentId: string, { obstacle, joinedBranch, openTo = "" }: Refusal): string {
  if (joinedBranch !== undefined) return `belongs to branch ${quoted(joinedBranch)}, which is already joined.`;
  switch (obstacle) {
    case "outside":
      return (
        "is not an ancestor of the current checkpoint. A rollback inside a run cannot go to an abandoned branch. " +
        `Finish the run and call persistence(agent).agent(${quoted(agentId)}).rollbackToCheckpoint(checkpointId).`
      );
    case "nested":
      return (
        "belongs to a branch of a parallel node or to a called agent, and is not an ancestor of the current branch. " +
        "After a rollback, only checkpoints of the main line can be restored again."
      );
    case "open":
      return `is on an abandoned branch, and a rollback to ${quoted(openTo)} is unfinished. Finish that rollback first by calling it again or by resuming.`;
    case "unrelated":
      return "is on an abandoned branch and has no stored ancestor in common with the current checkpoint.";
  }
}
