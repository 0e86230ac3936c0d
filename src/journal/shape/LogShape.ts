import type { FieldTests } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { LogShapeName } from "../../errors/storage/WrongShapeError.ts";

/** What a log that is no agent's consists of: its records, and the state that they make. */
export interface LogShape<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /** What lists have as the status of its logs, what their first record says, and what their ids begin with. */
  readonly name: Exclude<LogShapeName, "agent">;
  /** The version of its records, from 1. A log of a higher one is refused. */
  readonly version: number;
  /** Tests of the fields of each kind of record, other than stored values. No kind is `shape` or `pruned`. */
  readonly records: Readonly<Record<Rec["kind"], FieldTests>>;
  /** The stored values in a record. The blobs that hold them stay while a record that the state restates has them. */
  values(record: Rec): readonly StoredValue[];
  /** The state of a log without records. */
  begin(): State;
}

/** What the records of a log come to. */
export interface ShapeState<Rec extends LogRecord> {
  /**
   * Adds a record whose fields are valid. Takes as long as the record is large.
   *
   * @throws TypeError, RangeError when the record does not fit the ones before: nothing was added, and the log cannot be read.
   */
  add(record: Rec): void;
  /** As few records as make this state out of that of a log without records. */
  restate(): Iterable<Rec>;
}

/** The id of a log, by which storages know it: agents, threads and sessions of one name do not meet. */
export function logIdOf({ name }: { readonly name: string }, id: string): string {
  return `${name}:${id}`;
}
