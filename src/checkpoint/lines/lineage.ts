import { type LaneRecord, originOf, type LaneStart } from "../records/lineRecords.ts";
import { laneAt, type Lines, type NestedLine } from "./Lines.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { isOver } from "../records/callRecords.ts";
import { isSinceVisit, type Visit } from "../records/Visit.ts";
import type { EarlierLane } from "../records/SnapshotRecord.ts";
import type { OriginRecord } from "../records/runRecords.ts";
import type { RunLine } from "../ids/toolCallId.ts";

interface PlacedCheckpoint {
  readonly version: number;
  readonly order: number;
  readonly record: { readonly lane: number; readonly visit?: Visit };
}

export interface LaneTree {
  readonly lanes: ReadonlyMap<number, { readonly record: Pick<LaneRecord, "from" | "place"> }>;
  readonly checkpoints: ReadonlyMap<number, PlacedCheckpoint>;
  readonly lines: Pick<Lines, "around" | "childrenOf" | "nestedLine">;
}

export interface TreeOfRecords extends LaneTree {
  readonly laneRecords: ReadonlyMap<number, readonly PlacedRecord[]>;
}

interface PlacedRecord {
  readonly record: AgentRecord;
  readonly position: number;
  readonly order: number;
}

type PlaceTest = (lane: number, order: number) => boolean;

/** Returns a test for the records that follow a checkpoint, on any lane. */
export function placesBelow(tree: LaneTree, target: PlacedCheckpoint): PlaceTest {
  /** By lane: the `order` after which records follow the checkpoint. `Infinity` for a cycle in a forged log. */
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
 * Returns a test for the records that a rollback abandons: all records after the target, and all records of the
 * branches and sub-agents that start again. In a redo, `base` is the common ancestor, and these records are abandoned
 * unless they lead to the target.
 */
export function placesLeft(
  tree: TreeOfRecords,
  target: PlacedCheckpoint,
  base: PlacedCheckpoint | undefined,
): PlaceTest {
  return base ? placesSince(tree, base, target, false) : placesRestarted(tree, target);
}

/** Returns a test for the records that a redo restores, from the common ancestor to the target. */
export function placesRejoined(tree: TreeOfRecords, target: PlacedCheckpoint, base: PlacedCheckpoint): PlaceTest {
  return placesSince(tree, base, target, true);
}

function placesSince(
  tree: TreeOfRecords,
  base: PlacedCheckpoint,
  target: PlacedCheckpoint,
  areOnWay: boolean,
): PlaceTest {
  const isRestarted = placesRestarted(tree, base);
  const isOnWay = placesUpTo(tree, target);
  return (lane, order) => isRestarted(lane, order) && isOnWay(lane, order) === areOnWay;
}

function placesRestarted(tree: TreeOfRecords, point: PlacedCheckpoint): PlaceTest {
  const isBelow = placesBelow(tree, point);
  const ends = endsOfRestarted(tree, point);
  const endOf = (lane: number) => ends.get(tree.lines.nestedLine(lane)) ?? -1;
  return (lane, order) => isBelow(lane, order) || order <= endOf(lane);
}

/**
 * Returns the branches and sub-agents that a rollback to a checkpoint starts again, those inside of them, and those that
 * a move continued as one of them, each with the order of its last record.
 */
function endsOfRestarted(tree: TreeOfRecords, point: PlacedCheckpoint): ReadonlyMap<NestedLine | undefined, number> {
  const ends = new Map<NestedLine | undefined, number>();
  const add = (line: NestedLine | undefined, end: number): void => {
    if (!line || (ends.get(line) ?? -1) >= end) return;
    ends.delete(line);
    ends.set(line, end);
  };
  for (const line of restartedLines(tree, point)) add(line, Infinity);
  let moves: ReadonlyMap<number | undefined, number> | undefined;
  for (const [line, end] of ends)
    for (const [lane] of line?.lanes ?? []) {
      for (const inner of tree.lines.childrenOf(lane)) add(inner, end);
      const from = isMoved(tree, lane) ? beginningOf(tree, lane).from : undefined;
      if (!from) continue;
      moves ??= endsOfMoves(tree);
      add(tree.lines.nestedLine(from.record.lane), moves.get(positionOf(tree, lane)) ?? -1);
    }
  return ends;
}

function restartedLines(tree: TreeOfRecords, point: PlacedCheckpoint): readonly NestedLine[] {
  const open = tree.lines.childrenOf(point.record.lane).filter(({ closed = Infinity }) => closed > point.order);
  if (open.length === 0) return open;
  const kept = keptCalls(tree, point);
  return open.filter(({ begun, place }) => begun > point.order || "fork" in place || !kept.has(place.call));
}

/** Returns the calls that the node of a checkpoint does not repeat: they succeeded, or an earlier node made them. */
function keptCalls(
  { laneRecords }: TreeOfRecords,
  { version, order, record: { lane, visit = [version, 0] } }: PlacedCheckpoint,
): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const { record, order: at } of laneRecords.get(lane) ?? []) {
    if (at > order) break;
    if (record.kind !== "intent" && record.kind !== "outcome") continue;
    const succeeded = record.kind === "outcome" && isOver(record) && !record.error;
    if (succeeded || !isSinceVisit(record.visit, visit)) kept.add(record.call);
    else kept.delete(record.call);
  }
  return kept;
}

/** By position of a move's append: the order of the last record that the move continued, that of its checkpoint. */
function endsOfMoves(tree: TreeOfRecords): ReadonlyMap<number | undefined, number> {
  const ends = new Map<number | undefined, number>();
  for (const lane of tree.lanes.keys()) {
    const { order = -1 } = beginningOf(tree, lane).from ?? {};
    const position = positionOf(tree, lane);
    if (order > (ends.get(position) ?? -1)) ends.set(position, order);
  }
  return ends;
}

function positionOf({ laneRecords }: TreeOfRecords, lane: number): number | undefined {
  return laneRecords.get(lane)?.[0]?.position;
}

/** Returns a test for the records up to a checkpoint, in its branch or sub-agent and in the enclosing ones. */
export function placesOnWay(tree: LaneTree, point: PlacedCheckpoint): PlaceTest {
  const ends = endsOnWay(tree, point);
  return (lane, order) => order <= (ends.get(lane) ?? -1);
}

/** Returns a test for the records up to a checkpoint, including the branches and sub-agents that ran then. */
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

function joinsAround(tree: LaneTree, lane: number): Map<number, number> {
  const joins = new Map<number, number>();
  for (const { closed = Infinity, place } of tree.lines.around(lane)) joins.set(place.parent, closed - 1);
  return joins;
}

function endsOnWay(tree: LaneTree, { record, order }: PlacedCheckpoint): Map<number, number> {
  const ends = new Map<number, number>();
  addEnds(tree, ends, [{ lane: record.lane, order }]);
  return ends;
}

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

function endsBefore(tree: LaneTree, lane: number): readonly LaneEnd[] {
  const start = tree.lanes.get(lane)?.record;
  const origin = start && originOf(start);
  const point = origin === undefined ? undefined : tree.checkpoints.get(origin);
  const before = point ? [{ lane: point.record.lane, order: point.order }] : [];
  const parent = parentOf(tree, lane);
  if (parent === undefined || (point && !isMoved(tree, lane))) return before;
  return [...before, { lane: parent, order: tree.lines.nestedLine(lane)?.begun ?? -1 }];
}

function endInParent(tree: LaneTree, lane: number, upTo: number): number {
  const line = tree.lines.nestedLine(lane);
  const newest = line && laneAt(line, upTo);
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

function beginningOf(
  tree: LaneTree,
  lane: number,
): { readonly from: PlacedCheckpoint | undefined; readonly parent: number | undefined } {
  const from = tree.lanes.get(lane)?.record.from;
  return { from: from === undefined ? undefined : tree.checkpoints.get(from), parent: parentOf(tree, lane) };
}

/** A valid branch has a higher lane than its parent. In a forged log, this check prevents an endless loop. */
function parentOf({ lines }: LaneTree, lane: number): number | undefined {
  const parent = lines.nestedLine(lane)?.place.parent;
  return parent !== undefined && parent < lane ? parent : undefined;
}

interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, LaneStart>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
  readonly origins: readonly { readonly record: Pick<OriginRecord, "agentId" | "nextLane"> }[];
  /** By lane: earlier lanes of the same run, branch or sub-agent that the index does not contain, newest first. */
  readonly earlierLanes: ReadonlyMap<number, readonly EarlierLane[]>;
}

/** Returns a lane and the lanes that it continues, newest first. A fork also continues lanes of its original agent. */
export function linesTo(log: LaneOrigins, agentId: string, lane: number): readonly RunLine[] {
  return lanesTo(log, lane).map(({ owner = agentId, runId, lane: at }) => ({ agentId: owner, runId, lane: at }));
}

export function lanesTo(log: LaneOrigins, lane: number): readonly EarlierLane[] {
  const { lanes, earlierLanes, origins } = log;
  const found = new Set<number>([lane]);
  for (const at of found) for (const before of lanesBefore(log, at)) found.add(before);
  const ownerOf = (at: number) => origins.find(({ record }) => at < record.nextLane)?.record.agentId;
  const own = [...found].map((at) => ({ lane: at, runId: lanes.get(at)?.runId ?? "", owner: ownerOf(at) }));
  return [...own, ...[...found].flatMap((at) => earlierLanes.get(at) ?? [])];
}

function lanesBefore({ lanes, checkpoints }: LaneOrigins, lane: number): readonly number[] {
  const start = lanes.get(lane);
  const from = start?.record.from;
  if (from !== undefined) return [checkpoints.get(from)?.record.lane ?? []].flat();
  // A run without a checkpoint restarts on a new lane, which does not refer to the first lane of the run.
  return start && isFirst(start)
    ? [...lanes].flatMap(([at, each]) => (at < lane && isFirst(each) && each.runId === start.runId ? at : []))
    : [];
}

function isFirst({ record }: LaneStart): boolean {
  return record.from === undefined && !record.place;
}

/** Returns the newest lane of the run, branch or sub-agent of a lane. `undefined` if all of them have finished. */
export function openLaneOf(index: LaneTree & { readonly lines: Lines }, lane: number): number | undefined {
  const { lines } = index;
  const newest = lines.nestedLine(lane)?.lane ?? lines.mainLane;
  if (lines.isOpen(newest)) return newest;
  return lines.openLanes.find((open) => lanesOfLine(index, open).has(lane));
}

/** Returns a lane and the lanes that it continues. After a move, these lanes can belong to another branch. */
export function lanesOfLine({ lanes, checkpoints }: LaneTree, lane: number): ReadonlySet<number> {
  const found = new Set([lane]);
  for (const at of found) {
    const from = lanes.get(at)?.record.from;
    const before = from === undefined ? undefined : checkpoints.get(from);
    if (before) found.add(before.record.lane);
  }
  return found;
}
