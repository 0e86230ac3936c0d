import type { AgentRecord } from "../records/AgentRecord.ts";
import type { StoredMessage } from "../messages/storedHistory.ts";
import { forkOf, type LaneStart, originOf } from "../records/lineRecords.ts";
import type { AgentState, RecordedCall } from "./AgentState.ts";
import type { CheckpointPoint } from "./CheckpointPoint.ts";
import { StateFold, withRecord } from "./StateFold.ts";
import { lineValue } from "./lineValue.ts";
import { refersToLane } from "../values/refersToLane.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";

export interface FoldOptions {
  /** Gives the history without any trimming; the index must then begin at the start of the log. */
  readonly originals?: boolean;
}

/**
 * The state at a checkpoint, or at the head of the main line if none is given: its newest lane with all its records.
 *
 * @returns `undefined` when the lane begins before the index does: read the log from its start.
 */
export function foldTo(index: LogProjection, point?: CheckpointPoint, options?: FoldOptions): AgentState | undefined {
  return fold(index, point?.record.lane ?? index.lines.mainLane, point, options);
}

/** The state at the head of a line: its lane with all its records. As {@link foldTo}. */
export function foldLine(index: LogProjection, lane: number, options?: FoldOptions): AgentState | undefined {
  return fold(index, lane, undefined, options);
}

/** The state of a line at its newest checkpoint up to an order, with what it recorded since, up to there. As {@link foldTo}. */
export function foldUpTo(
  index: LogProjection,
  lane: number,
  point: CheckpointPoint | undefined,
  upTo: number,
): AgentState | undefined {
  const parts = partsTo(index, lane, upTo);
  return parts && withPlace(index, foldParts(index, parts, false), lane, point);
}

/** Whether all that leads to the head of a line is within what was read. */
export function reachesLine(index: LogProjection, lane: number): boolean {
  return partsTo(index, lane, Infinity) !== undefined;
}

function fold(
  index: LogProjection,
  lane: number,
  point: CheckpointPoint | undefined,
  { originals = false }: FoldOptions = {},
): AgentState | undefined {
  const { order } = point ?? { order: Infinity };
  const parts = partsTo(index, lane, order);
  if (parts === undefined) return undefined;
  return withPlace(index, foldParts(index, parts, originals), lane, point ?? index.latestOf(lane));
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

/** After a join, records refer to the lanes of the joined branches: what these contain comes in their place. */
function pointByValue(index: LogProjection, point: CheckpointPoint): CheckpointPoint {
  const record = recordByValue(index, point);
  return record === point.record || record.kind !== "checkpoint" ? point : { ...point, record };
}

/** A record without references to lanes other than its own. */
export function recordByValue(index: LogProjection, { record, order }: OrderedRecord): AgentRecord {
  const valueOf = <Entry extends StoredMessage>(entry: Entry, lane: number): Entry =>
    refersToLane(entry.message) ? { ...entry, message: lineValue(index, lane, entry.message, order) } : entry;
  if (record.kind === "message") return valueOf(record, record.lane);
  if (record.kind === "checkpoint" && refersToLane(record.input))
    return { ...record, input: lineValue(index, record.lane, record.input, order) };
  if (record.kind !== "edit" || !record.insert.some(({ message }) => refersToLane(message))) return record;
  return { ...record, insert: record.insert.map((entry) => valueOf(entry, record.lane)) };
}

/** The records of one lane up to a point. */
interface LanePart {
  readonly lane: number;
  readonly start: LaneStart;
  readonly upTo: number;
  /** The state that reading began with, if it began on this lane. */
  readonly base: AgentState | undefined;
}

/** The parts of lanes that lead to a point, oldest first. A lane that keeps nothing is the first part. */
function partsTo(index: LogProjection, lane: number, upTo: number): readonly LanePart[] | undefined {
  if (lane === 0 && upTo === Infinity && index.lanes.size === 0) return [];
  const parts: LanePart[] = [];
  for (let at: CheckpointPoint | undefined, end = { lane, upTo }; ; end = { lane: at.record.lane, upTo: at.order }) {
    const part = partAt(index, end);
    // A lane follows each other once, unless a forged log makes a circle of them.
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
  const fork = originals || parts.length < 2 ? undefined : beganAtFork(parts.at(-1));
  if (fork !== undefined) folded.restore(stateAtFork(index, fork, parts.slice(0, -1)));
  for (const part of fork === undefined ? parts : parts.slice(-1)) addPart(folded, part, index, originals);
  return folded;
}

/** The fork that the first lane of a branch begins from; `undefined` for every other lane. */
function beganAtFork(part: LanePart | undefined): number | undefined {
  const record = part?.start.record;
  return record?.from === undefined && record ? forkOf(record) : undefined;
}

const forkStates = new WeakMap<LogProjection, Map<number, AgentState>>();

/** The state with which the branches of a fork begin: computed once, however many they are. */
function stateAtFork(index: LogProjection, fork: number, parts: readonly LanePart[]): AgentState {
  const known = forkStates.get(index) ?? new Map<number, AgentState>();
  forkStates.set(index, known);
  const state = known.get(fork) ?? foldParts(index, parts, false).state;
  known.set(fork, state);
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

/** A tool call with its lane, and where the record is that names its tool. */
export interface PlacedCall extends RecordedCall {
  readonly lane: number;
  readonly named: { readonly lane: number; readonly order: number };
}

/** Every tool call of a log. */
export function callsOf(index: LogProjection): readonly PlacedCall[] {
  const calls = new Map<string, PlacedCall>();
  for (const [lane, records] of index.laneRecords)
    for (const { record, order } of records) {
      if (!isOfCall(record)) continue;
      const known = calls.get(record.call);
      const named = known && record.tool === undefined ? known.named : { lane, order };
      calls.set(record.call, { ...withRecord(known, record, order), lane, named });
    }
  return [...calls.values()];
}

function isOfCall(record: AgentRecord): record is Extract<AgentRecord, { kind: "intent" | "outcome" }> {
  return record.kind === "intent" || record.kind === "outcome";
}
