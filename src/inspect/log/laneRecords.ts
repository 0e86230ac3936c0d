import type { LogProjection, OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import { originOf, type CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { AgentIndex } from "./AgentIndex.ts";

const none: readonly OrderedRecord[] = [];

export function recordsBetween(
  { laneRecords }: LogProjection,
  lane: number,
  after: number,
  upTo: number,
): readonly OrderedRecord[] {
  const records = laneRecords.get(lane) ?? none;
  return records.slice(firstAfter(records, after), firstAfter(records, upTo));
}

/** Returns the index of the first item after an order in a sorted list. */
export function firstAfter(items: readonly { readonly order: number }[], order: number): number {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((items[middle]?.order ?? Infinity) <= order) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Yields the records before a place in the log, newest first, on its lane and on the lanes from which it started. */
export function* recordsBefore(log: LogProjection, lane: number, order: number): Generator<OrderedRecord> {
  for (const [at, upTo] of wayBack(log, lane, order)) yield* newestFirst(log.laneRecords.get(at) ?? none, upTo);
}

/** Returns the model of a lane at a place in the log. `undefined` if the settings name no model. */
export type ModelAt = (lane: number, order: number) => string | undefined;

export function modelFinder(log: LogProjection): ModelAt {
  const settings = new Map<number, readonly OrderedRecord[]>();
  const settingsOf = (lane: number): readonly OrderedRecord[] => {
    const known =
      settings.get(lane) ??
      (log.laneRecords.get(lane) ?? none).filter(({ record }) => record.kind === "settings" && record.model !== "");
    settings.set(lane, known);
    return known;
  };
  return (lane, order) => {
    for (const [at, upTo] of wayBack(log, lane, order))
      for (const { record } of newestFirst(settingsOf(at), upTo)) if (record.kind === "settings") return record.model;
    return undefined;
  };
}

function* newestFirst(records: readonly OrderedRecord[], upTo: number): Generator<OrderedRecord> {
  for (let index = firstAfter(records, upTo) - 1; index >= 0; index--) yield records[index] as OrderedRecord;
}

/** Yields a lane and the lanes from which it started, each with the order of its last record on the path. */
export function* wayBack(
  log: LogProjection,
  lane: number,
  order: number,
): Generator<readonly [lane: number, upTo: number]> {
  let at = lane;
  let upTo = order;
  for (let left = log.lanes.size; left >= 0; left--) {
    yield [at, upTo];
    const start = log.lanes.get(at)?.record;
    const origin = start && log.checkpoints.get(originOf(start) ?? -1);
    if (!origin) return;
    at = origin.record.lane;
    upTo = origin.order;
  }
}

/** Returns the newest checkpoint before an order. @param lane - the lane of a branch. Defaults to that of the run. */
export function headBefore(
  { log, events }: AgentIndex,
  order: number,
  lane = log.lines.mainLane,
): CheckpointPoint | undefined {
  const line = log.lines.nestedLine(lane);
  for (let at = firstAfter(events, order - 0.1) - 1; at >= 0; at--) {
    const event = events[at];
    if (!event || !("record" in event) || event.record.kind !== "checkpoint") continue;
    if (log.lines.nestedLine(event.record.lane) === line) return log.checkpoints.get(event.record.version);
  }
  return undefined;
}
