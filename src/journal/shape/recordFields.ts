import {
  count,
  type FieldList,
  type FieldTests,
  firstInvalid,
  listOf,
  optional,
  text,
  time,
} from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";

/** The tests of the records of one shape, by kind. */
export type RecordFields = ReadonlyMap<string, FieldList>;

const common: Readonly<Record<string, FieldTests>> = {
  shape: { shape: text, version: count, at: time, restates: optional((value) => value === true) },
  pruned: { blobs: listOf(text) },
};

const known = new WeakMap<object, RecordFields>();

/** The tests of the records of a shape, with those that the logs of all shapes have. */
export function recordFields(shape: { readonly records: Readonly<Record<string, FieldTests>> }): RecordFields {
  const fields =
    known.get(shape) ??
    new Map(Object.entries({ ...shape.records, ...common }).map(([kind, tests]) => [kind, Object.entries(tests)]));
  known.set(shape, fields);
  return fields;
}

/** The first field of a record that is invalid, `kind` for a record of another shape. `undefined`: none is. */
export function invalidRecordField(fields: RecordFields, record: LogRecord): string | undefined {
  const tests = fields.get(record.kind);
  return tests === undefined ? "kind" : firstInvalid(record, tests);
}
