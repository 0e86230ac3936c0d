/** A checkpoint, by what its place among the lanes follows from. */
interface PlacedCheckpoint {
  readonly version: number;
  /** Orders all records of a log. */
  readonly order: number;
  readonly record: { readonly lane: number };
}

/** The tree of the lanes in a log: each lane begins from a checkpoint of another. */
interface LaneTree {
  readonly lanes: ReadonlyMap<number, { readonly record: { readonly from?: number } }>;
  readonly checkpoints: ReadonlyMap<number, PlacedCheckpoint>;
}

/** Whether a place of the log is below a checkpoint in the tree: after it in its lane, or in a lane that begins below it. */
export function isBelow(tree: LaneTree, lane: number, order: number, point: PlacedCheckpoint): boolean {
  if (lane === point.record.lane) return order > point.order;
  const from = tree.lanes.get(lane)?.record.from;
  const origin = from === undefined ? undefined : tree.checkpoints.get(from);
  if (!origin) return false;
  return origin.version === point.version || isBelow(tree, origin.record.lane, origin.order, point);
}

/** Whether a checkpoint is another one or lies on the way to it. */
export function isAncestor(tree: LaneTree, point: PlacedCheckpoint, of: PlacedCheckpoint): boolean {
  return point.version === of.version || isBelow(tree, of.record.lane, of.order, point);
}

/** Whether a place of the log lies on the way to a checkpoint. */
export function isOnWayTo(tree: LaneTree, lane: number, order: number, point: PlacedCheckpoint): boolean {
  if (lane === point.record.lane) return order < point.order;
  const from = tree.lanes.get(point.record.lane)?.record.from;
  const origin = from === undefined ? undefined : tree.checkpoints.get(from);
  return origin !== undefined && isOnWayTo(tree, lane, order, origin);
}
