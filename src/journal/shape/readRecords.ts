import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import type { Entry, LogRecord } from "../../checkpoint/records/Entry.ts";
import { isPartial, isRestating, isShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { type LogShapeName, WrongShapeError } from "../../errors/storedDataErrors.ts";
import { Pace } from "../../internal/nextTurn.ts";
import type { ReadOptions, RecordLog } from "../../storage/RecordLog.ts";
import { LogContents } from "./LogContents.ts";
import { type ShapeDefinition, logIdOf, type ShapeState } from "./ShapeDefinition.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { emptyState } from "../../checkpoint/state/AgentState.ts";
import { type DecodedValues, ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { fetchBlobs } from "../../storage/blobs.ts";

export interface ReadRecords<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly contents: LogContents<Rec, State>;
  readonly end: ChainLink | undefined;
  /**
   * The records of the appends after `end` that this process wrote. The state includes these records. Defaults to none.
   */
  readonly written?: readonly (readonly LogRecord[])[];
}

type Readable = Pick<RecordLog, "read">;

export interface ReadRecordsOptions<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /** A state from an earlier read. Do not use this state afterwards, because the call changes it even if it fails. */
  readonly known?: ReadRecords<Rec, State> | undefined;
  /** Reads from the start of the log or of its whole state, not from an append that repeats only a part. */
  readonly whole?: boolean | undefined;
}

/**
 * Reads a log from the last append that repeats its state, or only the appends after a known state.
 *
 * @throws WrongShapeError, CorruptLogError, UnreadableValueError, UnsupportedFormatError, UnsupportedRecordError
 */
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

/** Returns `undefined` if the state is not a state of this log. A known state skips appends that repeat a part. */
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

/** Returns the entries after an append. `undefined` if the append is gone, or if the log was rewritten after it. */
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

  /** Returns the frozen values, the same for equal stored objects. @throws UnreadableValueError, StorageError */
  async read(values: readonly StoredValue[]): Promise<unknown[]> {
    const references = new Map<string, BlobCell>();
    for (const value of values) if (!this.#isDecoded(value)) addBlobReference(value, references);
    const texts = await fetchBlobs(this.#log, this.#logId, references);
    const reader = new ValueReader(emptyState, texts, this.#decoded);
    return values.map((value) => reader.read(value));
  }

  #isDecoded(value: StoredValue): boolean {
    return typeof value === "object" && value !== null && this.#decoded.has(value);
  }
}
