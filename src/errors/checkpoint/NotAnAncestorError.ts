import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/**
 * Why a checkpoint on a branch that was left cannot be rolled back to.
 *
 * - `outside`: only a rollback from outside a run can.
 * - `nested`: it is not on the main line.
 * - `open`: another rollback is open.
 * - `unrelated`: it has no ancestor in common with the head.
 */
export type RedoObstacle = "outside" | "nested" | "open" | "unrelated";

interface Refusal {
  readonly obstacle: RedoObstacle;
  /** The branch that the checkpoint belongs to, if that has been joined. */
  readonly joinedBranch?: string | undefined;
  /** The checkpoint that the open rollback goes to. */
  readonly openTo?: string | undefined;
}

/** A rollback target is not an ancestor of the agent's current checkpoint, and no redo can go there. Nothing has changed. */
export class NotAnAncestorError extends AgentPersistenceError {
  override readonly code = "not_an_ancestor";
  /** The ids of the newest checkpoints that a rollback can go to, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** The checkpoint that was to be rolled back to. */
    readonly checkpointId: string,
    ancestors: readonly string[],
    refusal: Refusal,
  ) {
    const newest = ancestors.slice(-10);
    super(
      `Checkpoint ${quoted(checkpointId)} of agent ${quoted(agentId)} ${problemOf(agentId, refusal)} ` +
        `Roll back to an ancestor, such as ${quotedList(newest)}. To continue from a checkpoint of the main line and revert nothing, call resume({ checkpointId }).`,
    );
    this.available = newest;
  }
}

function problemOf(agentId: string, { obstacle, joinedBranch, openTo = "" }: Refusal): string {
  if (joinedBranch !== undefined) return `belongs to branch ${quoted(joinedBranch)}, which has been joined.`;
  switch (obstacle) {
    case "outside":
      return (
        "is not an ancestor of the current checkpoint. A rollback inside a run goes back to no branch that was left; " +
        `end the run and call persistence(agent).agent(${quoted(agentId)}).rollbackToCheckpoint(checkpointId).`
      );
    case "nested":
      return (
        "belongs to a branch of a parallel node or to a called agent, and the line that asks does not come from it. " +
        "Only checkpoints of the main line can be rolled back to after they were left."
      );
    case "open":
      return `is on a branch that was left, and a rollback to ${quoted(openTo)} is open. Finish that rollback first: run it again, or resume.`;
    case "unrelated":
      return "is on a branch that was left, and has no stored ancestor in common with the current checkpoint.";
  }
}
