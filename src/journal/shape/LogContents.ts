import { entryBytes, type Entry, type LogRecord } from "../../checkpoint/records/Entry.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { isPartial, isRestating, isShapeRecord, type ShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import {
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
  WrongShapeError,
} from "../../errors/storedDataErrors.ts";
import { type ShapeDefinition, logIdOf, type ShapeState } from "./ShapeDefinition.ts";
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

const common: Readonly<Record<string, FieldTests>> = {
  shape: {
    shape: text,
    version: count,
    at: time,
    restates: optional((value) => value === true),
    part: optional(count),
  },
  pruned: { blobs: listOf(text) },
};

const known = new WeakMap<object, RecordFields>();

export class LogContents<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly state: State;
  readonly blobs = new Map<string, BlobCell>();
  /** The creation time of the log, in milliseconds since 1970. `undefined` if it has no records. */
  createdAt: number | undefined;
  unreadBytes = 0;
  /** The approximate size of all added appends. */
  bytes = 0;
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #logId: string;

  constructor(shape: ShapeDefinition<Rec, State>, id: string) {
    this.#shape = shape;
    this.#logId = logIdOf(shape, id);
    this.state = shape.begin();
  }

  /**
   * Adds the records of an append. An append that repeats the whole state must be added first, and its records before
   * the repeated state are ignored. Appends that repeat a part of the state are skipped. If this method throws, the
   * state is unusable.
   */
  add(entry: Entry): void {
    this.#addAll(entry, Math.max(0, entry.records.findLastIndex(isRestating)));
  }

  /** Adds the first append, starting at the last part of the state that it repeats. */
  addPart(entry: Entry): void {
    const first = entry.records.findLastIndex(isPartial);
    const [header] = entry.records.slice(first, first + 1);
    if (header && isPartial(header)) this.#begin(header);
    this.#addAll(entry, first + 1);
  }

  /** Adds an append whose records {@link state} already includes. */
  skip(entry: Entry): void {
    this.#addAll(entry, Math.max(0, entry.records.findLastIndex(isRestating)), true);
  }

  #addAll(entry: Entry, first: number, isInState = false): void {
    const fields = recordFields(this.#shape);
    for (let at = first; at < entry.records.length; at++) {
      const record = entry.records[at] as LogRecord;
      const field = invalidRecordField(fields, record);
      if (field === "kind") throw new UnsupportedRecordError(record.kind, entry.position);
      if (field !== undefined)
        throw new UnreadableValueError(`append ${entry.position}: record "${record.kind}" has an invalid "${field}"`);
      if (isPartial(record)) {
        at += record.part;
        this.unreadBytes = 0;
      } else if (isShapeRecord(record)) this.#begin(record);
      else if (record.kind !== "pruned") this.#addRecord(record as Rec, isInState);
    }
    const bytes = entryBytes(entry.records);
    this.unreadBytes += bytes;
    this.bytes += bytes;
  }

  #begin({ shape, version, at }: ShapeRecord): void {
    if (shape !== this.#shape.name) throw new WrongShapeError(this.#logId, shape, this.#shape.name);
    if (version > this.#shape.version)
      throw new UnsupportedFormatError(`The log ${JSON.stringify(this.#logId)}`, version, this.#shape.version);
    this.createdAt = at;
  }

  #addRecord(record: Rec, isInState: boolean): void {
    for (const value of this.#shape.values(record)) addBlobReference(value, this.blobs);
    if (isInState) return;
    try {
      this.state.add(record);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      throw new UnreadableValueError("the records of the log contradict each other", { cause: error });
    }
  }
}

type RecordFields = ReadonlyMap<string, FieldList>;

/** Returns the field tests of a shape, including the tests that all shapes share. */
export function recordFields(shape: { readonly records: Readonly<Record<string, FieldTests>> }): RecordFields {
  const fields =
    known.get(shape) ??
    new Map(Object.entries({ ...shape.records, ...common }).map(([kind, tests]) => [kind, Object.entries(tests)]));
  known.set(shape, fields);
  return fields;
}

/** Returns the first invalid field of a record, or `kind` for a record of another shape. `undefined` if valid. */
export function invalidRecordField(fields: RecordFields, record: LogRecord): string | undefined {
  const tests = fields.get(record.kind);
  return tests === undefined ? "kind" : firstInvalid(record, tests);
}
