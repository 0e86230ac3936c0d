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

/** Whether a place of the log belongs to a part of the tree. */
type PlaceTest = (lane: number, order: number) => boolean;

/** The places below a checkpoint: after it in its lane, and in lanes that begin below it. Follows each lane once. */
export function placesBelow(tree: LaneTree, { version, order: at, record }: PlacedCheckpoint): PlaceTest {
  const begins = new Map<number, boolean>();
  const isDirectlyBelow = (origin: PlacedCheckpoint | undefined): boolean | undefined => {
    if (origin === undefined) return false;
    if (origin.version === version) return true;
    return origin.record.lane === record.lane ? origin.order > at : begins.get(origin.record.lane);
  };
  const beginsBelow = (lane: number): boolean => {
    const way: number[] = [];
    // Until the way is followed to its end, it counts as not below: a forged circle has none.
    let found = begins.get(lane);
    for (let next = lane; found === undefined;) {
      const origin = originOf(tree, next);
      begins.set(next, false);
      way.push(next);
      found = isDirectlyBelow(origin);
      next = origin?.record.lane ?? next;
    }
    for (const passed of way) begins.set(passed, found);
    return found;
  };
  return (lane, order) => (lane === record.lane ? order > at : beginsBelow(lane));
}

/** The places on the way to a checkpoint, itself included. */
export function placesUpTo(tree: LaneTree, point: PlacedCheckpoint): PlaceTest {
  const ends = new Map<number, number>();
  for (let at: PlacedCheckpoint | undefined = point; at && !ends.has(at.record.lane);) {
    ends.set(at.record.lane, at.order);
    at = originOf(tree, at.record.lane);
  }
  return (lane, order) => order <= (ends.get(lane) ?? -1);
}

/** The checkpoint that a lane begins from. */
function originOf({ lanes, checkpoints }: LaneTree, lane: number): PlacedCheckpoint | undefined {
  const from = lanes.get(lane)?.record.from;
  return from === undefined ? undefined : checkpoints.get(from);
}
