import type { LogRecord } from "../records/Entry.ts";

/**
 * Says what a log is the log of. The first append of every log begins with one, but for logs of agents, which have none. Each
 * append that restates a log has another one: reading may begin there.
 */
export interface ShapeRecord extends LogRecord {
  readonly kind: "shape";
  readonly shape: string;
  /** The version of the records of that shape. */
  readonly version: number;
  /** When the log was begun, in milliseconds since 1970. */
  readonly at: number;
  /** The records after it restate everything before it, in the same append too. Absent: the log begins here. */
  readonly restates?: true;
}

/** What takes appends out of a log that is no agent's. The same append restates all that stays. */
export interface ShapePrunedRecord extends LogRecord {
  readonly kind: "pruned";
  readonly gaps: readonly object[];
  /** Blobs that nothing refers to any more. */
  readonly blobs: readonly string[];
}

/** Whether a record says what its log is the log of. What it says beside is not validated. */
export function isShapeRecord(record: LogRecord): record is ShapeRecord {
  return record.kind === "shape";
}

/** Whether all before a record is restated after it. */
export function isRestating(record: LogRecord): boolean {
  return isShapeRecord(record) && record.restates === true;
}
