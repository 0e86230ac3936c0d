import { type LaneRecord, originOf } from "../records/lineRecords.ts";
import type { Lines } from "./Lines.ts";

/** A checkpoint, by what its place among the lanes follows from. */
interface PlacedCheckpoint {
  readonly version: number;
  /** Orders all records of a log. */
  readonly order: number;
  readonly record: { readonly lane: number };
}

/** The lanes in a log: each begins from a checkpoint of another or is nested in it, or both. */
export interface LaneTree {
  readonly lanes: ReadonlyMap<number, { readonly record: Pick<LaneRecord, "from" | "place"> }>;
  readonly checkpoints: ReadonlyMap<number, PlacedCheckpoint>;
  readonly lines: Pick<Lines, "nestedLine">;
}

/** Whether a place of the log belongs to a part of the tree. */
type PlaceTest = (lane: number, order: number) => boolean;

/**
 * The places below a checkpoint: after it in its lane, in lanes that begin below it, and in the lines around its own from
 * where that was closed, as by a join. What is on a nested line counts in the line around it, at its own order.
 */
export function placesBelow(tree: LaneTree, target: PlacedCheckpoint): PlaceTest {
  /** By lane, the order after which it is below. Until a way is followed to its end, nothing on it is: a forged circle has none. */
  const after = new Map([[target.record.lane, target.order], ...joinsAround(tree, target.record.lane)]);
  const isBelow = ({ version, order, record }: PlacedCheckpoint): boolean =>
    version === target.version || order > (after.get(record.lane) ?? Infinity);
  const resolve = (lane: number): number => {
    const { from, parent } = beginningOf(tree, lane);
    if (from && isBelow(from)) return -1;
    return (parent === undefined ? undefined : after.get(parent)) ?? Infinity;
  };
  const follow = (lane: number): void => {
    const way = [lane];
    for (let at = way.at(-1); at !== undefined; at = way.at(-1)) {
      after.set(at, after.get(at) ?? Infinity);
      const { from, parent } = beginningOf(tree, at);
      const next = [from?.record.lane, parent].find((each) => each !== undefined && !after.has(each));
      if (next === undefined) after.set(way.pop() ?? lane, resolve(at));
      else way.push(next);
    }
  };
  return (lane, order) => {
    if (!after.has(lane)) follow(lane);
    return order > (after.get(lane) ?? Infinity);
  };
}

/**
 * The places that a rollback to a checkpoint leaves: those below it.
 *
 * @param base the common ancestor of the target and the head, if the target is on a branch that was left: then the places below
 *   the base are left, except those that lead to the target.
 */
export function placesLeft(tree: LaneTree, target: PlacedCheckpoint, base: PlacedCheckpoint | undefined): PlaceTest {
  if (!base) return placesBelow(tree, target);
  const isBelow = placesBelow(tree, base);
  const isOnWay = placesUpTo(tree, target);
  return (lane, order) => isBelow(lane, order) && !isOnWay(lane, order);
}

/** The places between a common ancestor and a target on a branch that was left. A rollback to the target goes back there. */
export function placesRejoined(tree: LaneTree, target: PlacedCheckpoint, base: PlacedCheckpoint): PlaceTest {
  const isBelow = placesBelow(tree, base);
  const isOnWay = placesUpTo(tree, target);
  return (lane, order) => isBelow(lane, order) && isOnWay(lane, order);
}

/** The places on the way to a checkpoint, itself included: in its own lanes, and in those of the lines around it. */
export function placesOnWay(tree: LaneTree, point: PlacedCheckpoint): PlaceTest {
  const ends = endsOnWay(tree, point);
  return (lane, order) => order <= (ends.get(lane) ?? -1);
}

/** The places on the way to a checkpoint, and on lines that were nested in those, as they were at the checkpoint. */
export function placesUpTo(tree: LaneTree, point: PlacedCheckpoint): PlaceTest {
  const ends = endsOnWay(tree, point);
  const endOf = (lane: number): number => {
    const way: number[] = [];
    for (let at: number | undefined = lane; at !== undefined && !ends.has(at); at = parentOf(tree, at)) way.push(at);
    for (const at of way.toReversed()) ends.set(at, endInParent(tree, at, ends.get(parentOf(tree, at) ?? -1) ?? -1));
    return ends.get(lane) ?? -1;
  };
  for (const [lane, begun] of movedLanes(tree)) if (endOf(lane) >= begun) addEnds(tree, ends, endsBefore(tree, lane));
  return (lane, order) => order <= endOf(lane);
}

/** The lanes of nested lines that begin from another line: as one of a moment that began anew. With the order at which they begin. */
function movedLanes(tree: LaneTree): readonly (readonly [lane: number, begun: number])[] {
  return [...tree.lanes.keys()].flatMap((lane) => {
    const line = isMoved(tree, lane) ? tree.lines.nestedLine(lane) : undefined;
    return line?.lanes.filter(([each]) => each === lane) ?? [];
  });
}

function isMoved(tree: LaneTree, lane: number): boolean {
  const line = tree.lines.nestedLine(lane);
  const { from } = line ? beginningOf(tree, lane) : {};
  return from !== undefined && tree.lines.nestedLine(from.record.lane) !== line;
}

/** By lane of the lines around a lane, the last order before the line within was closed; `Infinity`: it is not closed. */
function joinsAround(tree: LaneTree, lane: number): Map<number, number> {
  const joins = new Map<number, number>();
  let at = lane;
  for (let parent = parentOf(tree, at); parent !== undefined; parent = parentOf(tree, at)) {
    joins.set(parent, (tree.lines.nestedLine(at)?.closed ?? Infinity) - 1);
    at = parent;
  }
  return joins;
}

/** The last order on the way to a checkpoint, by lane. */
function endsOnWay(tree: LaneTree, { record, order }: PlacedCheckpoint): Map<number, number> {
  const ends = new Map<number, number>();
  addEnds(tree, ends, [{ lane: record.lane, order }]);
  return ends;
}

/** Adds where lanes end, and those that lead to them. */
function addEnds(tree: LaneTree, ends: Map<number, number>, added: readonly LaneEnd[]): void {
  const open = [...added];
  for (const { lane, order } of open) {
    if ((ends.get(lane) ?? -1) >= order) continue;
    ends.set(lane, order);
    open.push(...endsBefore(tree, lane));
  }
}

interface LaneEnd {
  readonly lane: number;
  readonly order: number;
}

/** Where the lanes that a lane begins from, or is nested in, are left. A branch leaves the one around it at its fork. */
function endsBefore(tree: LaneTree, lane: number): readonly LaneEnd[] {
  const start = tree.lanes.get(lane)?.record;
  const origin = start && originOf(start);
  const point = origin === undefined ? undefined : tree.checkpoints.get(origin);
  const before = point ? [{ lane: point.record.lane, order: point.order }] : [];
  const parent = parentOf(tree, lane);
  if (parent === undefined || (point && !isMoved(tree, lane))) return before;
  return [...before, { lane: parent, order: tree.lines.nestedLine(lane)?.begun ?? -1 }];
}

/** The last order of a nested lane that counts where its parent's lane counts up to an order. */
function endInParent(tree: LaneTree, lane: number, upTo: number): number {
  const line = tree.lines.nestedLine(lane);
  const newest = line?.lanes.findLast(([, begun]) => begun <= upTo)?.[0];
  if (newest === undefined) return -1;
  const seen = new Set<number>();
  for (let at: LaneEnd | undefined = { lane: newest, order: upTo }; at && !seen.has(at.lane);) {
    if (at.lane === lane) return Math.min(at.order, upTo);
    seen.add(at.lane);
    const from: PlacedCheckpoint | undefined = beginningOf(tree, at.lane).from;
    at = from && { lane: from.record.lane, order: from.order };
  }
  return -1;
}

/** The checkpoint that a later lane of a line begins from, and the lane that the line is nested in. */
function beginningOf(
  tree: LaneTree,
  lane: number,
): { readonly from: PlacedCheckpoint | undefined; readonly parent: number | undefined } {
  const from = tree.lanes.get(lane)?.record.from;
  return { from: from === undefined ? undefined : tree.checkpoints.get(from), parent: parentOf(tree, lane) };
}

/** A line is nested in an earlier one, unless the log is forged. */
function parentOf({ lines }: LaneTree, lane: number): number | undefined {
  const parent = lines.nestedLine(lane)?.place.parent;
  return parent !== undefined && parent < lane ? parent : undefined;
}
