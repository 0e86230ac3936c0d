import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { isAncestor } from "../../checkpoint/state/lineage.ts";
import { CheckpointNotFoundError } from "../../errors/checkpoint/CheckpointNotFoundError.ts";
import { NotAnAncestorError } from "../../errors/checkpoint/NotAnAncestorError.ts";

/** The checkpoint of an id, or the latest. @throws CheckpointNotFoundError */
export function findCheckpoint(
  agentId: string,
  index: LogProjection,
  checkpointId: string | undefined,
): CheckpointPoint {
  const point = checkpointId === undefined ? index.latest : index.byId(checkpointId);
  if (!point)
    throw new CheckpointNotFoundError(
      agentId,
      checkpointId,
      [...index.checkpoints.values()].map(({ id }) => id),
    );
  return point;
}

/**
 * A checkpoint that can be rolled back to: one on the way to the head. After a rollback that was cut short the head is
 * where that one goes to: what it took back stays taken back.
 *
 * @throws NotAnAncestorError, CheckpointNotFoundError
 */
export function findRollbackTarget(
  agentId: string,
  index: LogProjection,
  checkpointId: string | undefined,
): CheckpointPoint {
  const head = index.rollback ? index.checkpoints.get(index.rollback.target) : index.latest;
  const target = checkpointId === undefined && head ? head : findCheckpoint(agentId, index, checkpointId);
  if (head && !isAncestor(index, target, head)) {
    const ancestors = [...index.checkpoints.values()].filter((point) => isAncestor(index, point, head));
    throw new NotAnAncestorError(
      agentId,
      target.id,
      ancestors.map(({ id }) => id),
    );
  }
  return target;
}

/** The first checkpoint of the last run, on the way to the head or to where a rollback goes that was cut short. */
export function firstOfRun(index: LogProjection): CheckpointPoint | undefined {
  let first: CheckpointPoint | undefined;
  let at = index.rollback ? index.checkpoints.get(index.rollback.target) : index.latest;
  while (at && at.runId === index.run?.run) {
    first = at;
    at = parentOf(at, index);
  }
  return first;
}

function parentOf({ parent }: CheckpointPoint, index: LogProjection): CheckpointPoint | undefined {
  return parent === undefined ? undefined : index.checkpoints.get(parent);
}
