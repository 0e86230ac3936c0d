import type { LogProjection, OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import { originOf } from "../../checkpoint/records/lineRecords.ts";

const none: readonly OrderedRecord[] = [];

/** The records of a lane after one order, up to another. */
export function recordsBetween(
  { laneRecords }: LogProjection,
  lane: number,
  after: number,
  upTo: number,
): readonly OrderedRecord[] {
  const records = laneRecords.get(lane) ?? none;
  return records.slice(firstAfter(records, after), firstAfter(records, upTo));
}

/** The index of the first item with a higher order; the items are sorted by it. */
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

/** The records that lead to a place, newest first: those of its lane, then those of the lanes that it begins from. */
export function* recordsBefore(log: LogProjection, lane: number, order: number): Generator<OrderedRecord> {
  let at = lane;
  let upTo = order;
  for (let left = log.lanes.size; left >= 0; left--) {
    const records = log.laneRecords.get(at) ?? none;
    for (let index = firstAfter(records, upTo) - 1; index >= 0; index--) yield records[index] as OrderedRecord;
    const start = log.lanes.get(at)?.record;
    const origin = start && log.checkpoints.get(originOf(start) ?? -1);
    if (!origin) return;
    at = origin.record.lane;
    upTo = origin.order;
  }
}
