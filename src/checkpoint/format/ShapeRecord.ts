import type { LogRecord } from "../records/Entry.ts";

/** The first record of a log that does not belong to an agent. Names the kind of the log, such as `thread`. */
export interface ShapeRecord extends LogRecord {
  readonly kind: "shape";
  readonly shape: string;
  readonly version: number;
  /** The creation time of the log in milliseconds since 1970. */
  readonly at: number;
  /** True if the following records repeat the whole state of the log. Omitted at the start of a log. */
  readonly restates?: true;
  /** The number of following records that repeat a part of the state. Readers of the whole log skip these records. */
  readonly part?: number;
}

/** Names earlier appends as removed. The append with this record repeats all content that remains. */
export interface ShapePrunedRecord extends LogRecord {
  readonly kind: "pruned";
  readonly gaps: readonly object[];
  readonly blobs: readonly string[];
}

export function isShapeRecord(record: LogRecord): record is ShapeRecord {
  return record.kind === "shape";
}

export function isPartial(record: LogRecord): record is ShapeRecord & { readonly part: number } {
  return isShapeRecord(record) && record.part !== undefined;
}

export function isRestating(record: LogRecord): boolean {
  return isShapeRecord(record) && record.restates === true;
}
