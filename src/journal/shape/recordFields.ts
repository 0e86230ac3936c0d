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

export type RecordFields = ReadonlyMap<string, FieldList>;

const common: Readonly<Record<string, FieldTests>> = {
  shape: { shape: text, version: count, at: time, restates: optional((value) => value === true) },
  pruned: { blobs: listOf(text) },
};

const known = new WeakMap<object, RecordFields>();

/** Returns the field tests of a shape, with the tests that all shapes share. */
export function recordFields(shape: { readonly records: Readonly<Record<string, FieldTests>> }): RecordFields {
  const fields =
    known.get(shape) ??
    new Map(Object.entries({ ...shape.records, ...common }).map(([kind, tests]) => [kind, Object.entries(tests)]));
  known.set(shape, fields);
  return fields;
}

/**
 * Returns the first invalid field of a record, or `kind` for a record of another shape. Returns `undefined` for a valid
 * record.
 */
export function invalidRecordField(fields: RecordFields, record: LogRecord): string | undefined {
  const tests = fields.get(record.kind);
  return tests === undefined ? "kind" : firstInvalid(record, tests);
}
