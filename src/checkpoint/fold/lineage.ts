import type { CheckpointPoint, LogProjection } from "./LogProjection.ts";

/** Whether a place of the log is below a checkpoint in the tree: after it in its lane, or in a lane that begins below it. */
export function isBelow(index: LogProjection, lane: number, order: number, point: CheckpointPoint): boolean {
  if (lane === point.record.lane) return order > point.order;
  const from = index.lanes.get(lane)?.record.from;
  const origin = from === undefined ? undefined : index.checkpoints.get(from);
  if (!origin) return false;
  return origin.version === point.version || isBelow(index, origin.record.lane, origin.order, point);
}

/** Whether a checkpoint is another one or lies on the way to it. */
export function isAncestor(index: LogProjection, point: CheckpointPoint, of: CheckpointPoint): boolean {
  return point.version === of.version || isBelow(index, of.record.lane, of.order, point);
}

/** Whether a place of the log lies on the way to a checkpoint. */
export function isOnWayTo(index: LogProjection, lane: number, order: number, point: CheckpointPoint): boolean {
  if (lane === point.record.lane) return order < point.order;
  const from = index.lanes.get(point.record.lane)?.record.from;
  const origin = from === undefined ? undefined : index.checkpoints.get(from);
  return origin !== undefined && isOnWayTo(index, lane, order, origin);
}
