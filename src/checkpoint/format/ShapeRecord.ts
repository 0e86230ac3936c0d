import type { LogRecord } from "../records/Entry.ts";

/** Declares the kind of a log: its first record, repeated where an append repeats the content. Agents have none. */
export interface ShapeRecord extends LogRecord {
  readonly kind: "shape";
  readonly shape: string;
  readonly version: number;
  /** The creation time of the log in milliseconds since 1970. */
  readonly at: number;
  /** Set if the following records repeat the whole state of the log. `undefined` at the start of a log. */
  readonly restates?: true;
  /** The number of following records that repeat a part of the state. Other readers skip these records. */
  readonly part?: number;
}

/** Marks earlier appends as removed. The same append repeats all remaining content. */
export interface ShapePrunedRecord extends LogRecord {
  readonly kind: "pruned";
  readonly gaps: readonly object[];
  readonly blobs: readonly string[];
}

/** Other fields of the record are not validated. */
export function isShapeRecord(record: LogRecord): record is ShapeRecord {
  return record.kind === "shape";
}

/** Returns whether the records after this record repeat a part of the state. */
export function isPartial(record: LogRecord): record is ShapeRecord & { readonly part: number } {
  return isShapeRecord(record) && record.part !== undefined;
}

export function isRestating(record: LogRecord): boolean {
  return isShapeRecord(record) && record.restates === true;
}
