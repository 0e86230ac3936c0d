import type { AgentRecord } from "../records/AgentRecord.ts";
import type { StoredMessage } from "../messages/LinkedHistory.ts";
import { parallelStartOf, type LaneStart, originOf, type CheckpointPoint } from "../records/lineRecords.ts";
import type { AgentState, RecordedCall } from "./AgentState.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { StateFold, withRecord } from "./StateFold.ts";
import { lineValue } from "./lineValue.ts";
import { refersToLane } from "../values/valueCodec.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";

export interface FoldOptions {
  /** Returns the original history, without its trims. Requires an index of the whole log. */
  readonly originals?: boolean;
}

/**
 * Returns the state at a checkpoint, by default at the head with all later records.
 *
 * @returns `undefined` if the lane of the checkpoint starts before the index.
 */
export function foldTo(index: LogProjection, point?: CheckpointPoint, options?: FoldOptions): AgentState | undefined {
  const lane = point?.record.lane ?? index.lines.mainLane;
  return foldUpTo(index, lane, point ?? index.latestOf(lane), point?.order, options);
}

/** Like {@link foldTo}. @throws UnreadableValueError if the lane starts before the index. */
export function stateAt(index: LogProjection, point: CheckpointPoint): AgentState {
  const state = foldTo(index, point);
  if (!state) throw new UnreadableValueError(`the lane to checkpoint ${point.id} is not in the log`);
  return state;
}

export function foldLine(index: LogProjection, lane: number): AgentState | undefined {
  return foldUpTo(index, lane, index.latestOf(lane));
}

/** Like {@link foldTo}, for a lane and its newest checkpoint, with all records up to the order `upTo`. */
export function foldUpTo(
  index: LogProjection,
  lane: number,
  point: CheckpointPoint | undefined,
  upTo = Infinity,
  { originals = false }: FoldOptions = {},
): AgentState | undefined {
  const parts = partsTo(index, lane, upTo);
  return parts && withPlace(index, foldParts(index, parts, originals), lane, point);
}

export function reachesLine(index: LogProjection, lane: number, upTo = Infinity): boolean {
  return partsTo(index, lane, upTo) !== undefined;
}

function withPlace(
  index: LogProjection,
  folded: StateFold,
  lane: number,
  checkpoint: CheckpointPoint | undefined,
): AgentState {
  const runId = checkpoint?.runId ?? index.run?.run ?? "";
  const run = index.runRecords.get(runId);
  return { ...folded.state, lane, runId, run, checkpoint: checkpoint && pointByValue(index, checkpoint) };
}

/** Replaces references to lanes of joined branches by the messages there. */
function pointByValue(index: LogProjection, point: CheckpointPoint): CheckpointPoint {
  const record = recordByValue(index, point);
  return record === point.record || record.kind !== "checkpoint" ? point : { ...point, record };
}

export function recordByValue(index: LogProjection, { record, order }: OrderedRecord): AgentRecord {
  const valueOf = <Entry extends StoredMessage>(entry: Entry, lane: number): Entry =>
    refersToLane(entry.message) ? { ...entry, message: lineValue(index, lane, entry.message, order) } : entry;
  if (record.kind === "message") return valueOf(record, record.lane);
  if (record.kind === "checkpoint" && refersToLane(record.input))
    return { ...record, input: lineValue(index, record.lane, record.input, order) };
  if (record.kind !== "edit" || !record.insert.some(({ message }) => refersToLane(message))) return record;
  return { ...record, insert: record.insert.map((entry) => valueOf(entry, record.lane)) };
}

interface LanePart {
  readonly lane: number;
  readonly start: LaneStart;
  readonly upTo: number;
  readonly base: AgentState | undefined;
}

/** Returns the parts of lanes that lead to a point, oldest first. The first part inherits no state. */
function partsTo(index: LogProjection, lane: number, upTo: number): readonly LanePart[] | undefined {
  if (lane === 0 && upTo === Infinity && index.lanes.size === 0) return [];
  const parts: LanePart[] = [];
  for (let at: CheckpointPoint | undefined, end = { lane, upTo }; ; end = { lane: at.record.lane, upTo: at.order }) {
    const part = partAt(index, end);
    // In a valid log, no lane occurs twice. More parts than lanes mean that a forged log contains a cycle.
    if (part === undefined || parts.length > index.lanes.size) return undefined;
    parts.push(part);
    const { keep } = part.start.record;
    const origin = originOf(part.start.record);
    if (part.base || origin === undefined || keep === "nothing") return parts.reverse();
    at = index.checkpoints.get(origin);
    if (at === undefined) return undefined;
  }
}

function partAt({ lanes, base }: LogProjection, end: Pick<LanePart, "lane" | "upTo">): LanePart | undefined {
  const start = lanes.get(end.lane);
  const begun = base?.state.lane === end.lane ? base : undefined;
  if (start === undefined || (begun && end.upTo < begun.order)) return undefined;
  return { ...end, start, base: begun?.state };
}

function foldParts(index: LogProjection, parts: readonly LanePart[], originals: boolean): StateFold {
  const folded = new StateFold();
  const parallelStart = originals || parts.length < 2 ? undefined : parallelStartIn(parts.at(-1));
  if (parallelStart !== undefined) folded.restore(stateAtParallelStart(index, parallelStart, parts.slice(0, -1)));
  for (const part of parallelStart === undefined ? parts : parts.slice(-1)) addPart(folded, part, index, originals);
  return folded;
}

function parallelStartIn(part: LanePart | undefined): number | undefined {
  const record = part?.start.record;
  return record?.from === undefined && record ? parallelStartOf(record) : undefined;
}

/**
 * Returns the state in which the branches of a parallel node start.
 *
 * @param fork - the version of the checkpoint at the parallel node.
 * @returns `undefined` if the lane of the checkpoint starts before the index.
 */
export function foldToFork(index: LogProjection, fork: number): AgentState | undefined {
  const point = index.checkpoints.get(fork);
  const parts = point && partsTo(index, point.record.lane, point.order);
  return parts && stateAtParallelStart(index, fork, parts);
}

const forkStates = new WeakMap<LogProjection, Map<number, AgentState>>();

/** Returns the state in which the branches of a parallel node start. Computes the state only once. */
function stateAtParallelStart(index: LogProjection, parallelStart: number, parts: readonly LanePart[]): AgentState {
  const known = forkStates.get(index) ?? new Map<number, AgentState>();
  forkStates.set(index, known);
  const state = known.get(parallelStart) ?? foldParts(index, parts, false).state;
  known.set(parallelStart, state);
  return state;
}

function addPart(fold: StateFold, { lane, start, upTo, base }: LanePart, index: LogProjection, originals: boolean) {
  if (base) fold.restore(base);
  else fold.beginLane(start.record.keep);
  for (const ordered of index.laneRecords.get(lane) ?? []) {
    const { record, order } = ordered;
    if (order > upTo) return;
    if (index.requests.isForgotten(record, order)) continue;
    if (!originals || record.kind !== "edit" || !record.trim) fold.add(recordByValue(index, ordered), order);
  }
}

export interface PlacedCall extends RecordedCall {
  readonly lane: number;
  readonly named: { readonly lane: number; readonly order: number };
}

export function callsOf(index: LogProjection): readonly PlacedCall[] {
  const calls = new Map<string, PlacedCall>();
  for (const [lane, records] of index.laneRecords)
    for (const { record, order } of records) {
      if (record.kind !== "intent" && record.kind !== "outcome") continue;
      const known = calls.get(record.call);
      const named = known && record.tool === undefined ? known.named : { lane, order };
      calls.set(record.call, { ...withRecord(known, record, order), lane, named });
    }
  return [...calls.values()];
}
