import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { type Entry, type LogRecord, entryBytes } from "../../checkpoint/records/Entry.ts";
import { isPartial, isRestating, isShapeRecord, type ShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import {
  type LogShapeName,
  WrongShapeError,
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
} from "../../errors/storedDataErrors.ts";
import { Pace } from "../../internal/nextTurn.ts";
import type { ReadOptions, RecordLog } from "../../storage/RecordLog.ts";
import { type ShapeDefinition, logIdOf, type ShapeState } from "./ShapeDefinition.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { emptyState } from "../../checkpoint/state/AgentState.ts";
import { type DecodedValues, ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { fetchBlobs } from "../../storage/blobs.ts";
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

export interface ReadRecords<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly contents: LogContents<Rec, State>;
  readonly end: ChainLink | undefined;
  /** The records after `end` that this process wrote. `contents` already includes them. */
  readonly written?: readonly (readonly LogRecord[])[];
}

type Readable = Pick<RecordLog, "read">;

interface ReadRecordsOptions<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /** A state from an earlier read. Do not use it afterwards, because this call changes it even if it fails. */
  readonly known?: ReadRecords<Rec, State> | undefined;
  /** Reads from the whole state, and not from an append that repeats only a part of it. */
  readonly whole?: boolean | undefined;
}

/** Reads a log from the last append that repeats its state, or only the appends after a known state. */
export async function readRecords<Rec extends LogRecord, State extends ShapeState<Rec>>(
  shape: ShapeDefinition<Rec, State>,
  log: Readable,
  id: string,
  { known, whole = false }: ReadRecordsOptions<Rec, State> = {},
): Promise<ReadRecords<Rec, State>> {
  const logId = logIdOf(shape, id);
  const continued = known && (await continueRead(shape, log, logId, known));
  if (continued) return continued;
  const entries = await readStored(log, logId, { after: 0, sinceSnapshot: !whole });
  // A storage can also mark an append that does not repeat the state.
  if (!whole && entries[0]?.records.some(isShapeRecord) === false) return readRecords(shape, log, id, { whole: true });
  assertShape(shape.name, logId, entries);
  // After a pruning, only parts of the earlier appends remain.
  const from = Math.max(0, entries.findLastIndex(isRestated));
  const part = whole ? -1 : entries.findLastIndex(({ records }) => records.some(isPartial));
  const contents = new LogContents(shape, id);
  const first = part >= from ? entries[part] : undefined;
  if (!first) return addEntries(contents, entries.slice(from), undefined);
  contents.addPart(first);
  return addEntries(contents, entries.slice(part + 1), linkOf(first));
}

/** Continues a known state. Skips appends that repeat a part. Returns `undefined` if the log has another history. */
async function continueRead<Rec extends LogRecord, State extends ShapeState<Rec>>(
  shape: ShapeDefinition<Rec, State>,
  log: Readable,
  logId: string,
  { contents, end, written = [] }: ReadRecords<Rec, State>,
): Promise<ReadRecords<Rec, State> | undefined> {
  const added = end && (await entriesSince(log, logId, end, shape.part === undefined));
  if (!added || !beginsWith(added, written)) return undefined;
  const included = added.slice(0, written.length);
  for (const entry of included) contents.skip(entry);
  return addEntries(contents, added.slice(written.length), included.at(-1) ?? end);
}

function assertShape(expected: LogShapeName, logId: string, [first]: readonly Entry[]): void {
  if (first === undefined) return;
  const found = first.records.find(isShapeRecord)?.shape ?? "agent";
  if (found !== expected) throw new WrongShapeError(logId, found, expected);
}

/** Returns the entries after an append. `undefined` if the append is missing or the log was rewritten after it. */
async function entriesSince(
  log: Readable,
  logId: string,
  end: ChainLink,
  sinceSnapshot: boolean,
): Promise<readonly Entry[] | undefined> {
  const [first, ...added] = await readStored(log, logId, { after: end.position - 1, sinceSnapshot });
  if (first?.position !== end.position || first.checksum !== end.checksum) return undefined;
  return added.some(isRestated) ? undefined : added;
}

function beginsWith(entries: readonly Entry[], written: readonly (readonly LogRecord[])[]): boolean {
  return written.every((records, at) => JSON.stringify(records) === JSON.stringify(entries[at]?.records));
}

/** Returns the stored entries of a log, oldest first. Lets other code run during a long read. */
export async function readStored(log: Readable, logId: string, options?: ReadOptions): Promise<readonly Entry[]> {
  const pace = new Pace();
  const entries: Entry[] = [];
  for await (const entry of log.read(logId, options)) {
    entries.push(entry);
    await pace.after(estimateBytes(entry.records));
  }
  return entries;
}

function isRestated({ records }: Entry): boolean {
  return records.some(isRestating);
}

async function addEntries<Rec extends LogRecord, State extends ShapeState<Rec>>(
  contents: LogContents<Rec, State>,
  entries: readonly Entry[],
  end: ChainLink | undefined,
): Promise<ReadRecords<Rec, State>> {
  const pace = new Pace();
  for (const entry of entries) {
    contents.add(entry);
    await pace.after(estimateBytes(entry.records));
  }
  const last = entries.at(-1) ?? end;
  return { contents, end: last && linkOf(last) };
}

function linkOf({ position, checksum }: ChainLink): ChainLink {
  return { position, checksum };
}

export class ShapeValues {
  readonly #log: RecordLog;
  readonly #logId: string;
  readonly #decoded: DecodedValues = new WeakMap();

  constructor(log: RecordLog, logId: string) {
    this.#log = log;
    this.#logId = logId;
  }

  /** Returns frozen values. Equal references give the same value. @throws UnreadableValueError, StorageError */
  async read(values: readonly StoredValue[]): Promise<unknown[]> {
    const references = new Map<string, BlobCell>();
    for (const value of values) if (!this.#decoded.has(value as object)) addBlobReference(value, references);
    const texts = await fetchBlobs(this.#log, this.#logId, references);
    const reader = new ValueReader(emptyState, texts, this.#decoded);
    return values.map((value) => reader.read(value));
  }
}

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

const knownFields = new WeakMap<object, RecordFields>();

class LogContents<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly state: State;
  readonly blobs = new Map<string, BlobCell>();
  /** The creation time of the log, in milliseconds since 1970. `undefined` if it has no records. */
  createdAt: number | undefined;
  unreadBytes = 0;
  /** The approximate number of bytes of all added appends. */
  bytes = 0;
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #logId: string;

  constructor(shape: ShapeDefinition<Rec, State>, id: string) {
    this.#shape = shape;
    this.#logId = logIdOf(shape, id);
    this.state = shape.begin();
  }

  /** Adds the records of an append. An append with the whole state must be the first. Skips repeated parts. */
  add(entry: Entry): void {
    this.#addAll(entry, Math.max(0, entry.records.findLastIndex(isRestating)));
  }

  /** Adds the first append, from the last part of the state that it repeats. */
  addPart(entry: Entry): void {
    const first = entry.records.findLastIndex(isPartial);
    const [header] = entry.records.slice(first, first + 1);
    if (header && isPartial(header)) this.#begin(header);
    this.#addAll(entry, first + 1);
  }

  /** Adds an append whose records are already in {@link state}. */
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
      throw new UnreadableValueError("the records of the log are inconsistent", { cause: error });
    }
  }
}

type RecordFields = ReadonlyMap<string, FieldList>;

/** Returns the field tests for a kind of log, including those for the records that all kinds share. */
export function recordFields(shape: { readonly records: Readonly<Record<string, FieldTests>> }): RecordFields {
  const fields =
    knownFields.get(shape) ??
    new Map(Object.entries({ ...shape.records, ...common }).map(([kind, tests]) => [kind, Object.entries(tests)]));
  knownFields.set(shape, fields);
  return fields;
}

/** Returns the first invalid field of a record, or `kind` for an unknown kind of record. `undefined` if valid. */
export function invalidRecordField(fields: RecordFields, record: LogRecord): string | undefined {
  const tests = fields.get(record.kind);
  return tests === undefined ? "kind" : firstInvalid(record, tests);
}
