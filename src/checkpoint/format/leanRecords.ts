import type { AgentRecord } from "../records/AgentRecord.ts";
import { parallelStartOf, type LaneRecord, type CheckpointRecord } from "../records/lineRecords.ts";
import type { LogRecord } from "../records/Entry.ts";

/** Fields with the same value in the records of one append, such as the time. The value is stored once. */
type Implied = { readonly at?: number | undefined };

/** Returns the records of an append without repeated fields. {@link wholeRecords} restores these fields. */
export function leanRecords(records: readonly AgentRecord[]): readonly LogRecord[] {
  let last: Implied = {};
  return records.map((record) => {
    if (record.kind === "lane") return leanLane(record);
    if (record.kind !== "checkpoint") return record;
    const lean = leanCheckpoint(record, last);
    last = record;
    return lean;
  });
}

export function wholeRecords(records: readonly LogRecord[]): readonly LogRecord[] {
  let last: Implied = {};
  return records.map((stored) => {
    const record = stored as AgentRecord;
    if (record.kind === "lane") return beginsAsFork(record) ? Object.assign({ keep: "all" }, record) : record;
    if (record.kind !== "checkpoint") return record;
    const whole = {
      ...(last.at !== undefined && { at: last.at }),
      ...(record.ended && { node: "finish" }),
      ...record,
    };
    last = whole;
    return whole;
  });
}

function leanLane(record: LaneRecord): LogRecord {
  const { keep, ...lean } = record;
  return keep === "all" && beginsAsFork(record) ? lean : record;
}

function beginsAsFork(record: LaneRecord): boolean {
  return record.from === undefined && parallelStartOf(record) !== undefined;
}

function leanCheckpoint(record: CheckpointRecord, last: Implied): LogRecord {
  const { at, node, ...lean } = record;
  const isEnd = record.ended === true && node === "finish";
  if (at !== last.at && !isEnd) return record;
  return { ...lean, ...(at !== last.at && { at }), ...(!isEnd && { node }) };
}
