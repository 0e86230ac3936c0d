import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import type { Entry, LogRecord } from "../../checkpoint/records/Entry.ts";
import { isRestating, isShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
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
}

type Readable = Pick<RecordLog, "read">;

/**
 * Reads a log from its last restatement, or the appends after a known state.
 *
 * @param known A state from an earlier read. Do not use this state afterwards, because the call changes it even if it
 * fails.
 * @throws WrongShapeError, CorruptLogError, UnreadableValueError, UnsupportedFormatError, UnsupportedRecordError
 */
export async function readRecords<Rec extends LogRecord, State extends ShapeState<Rec>>(
  shape: ShapeDefinition<Rec, State>,
  log: Readable,
  id: string,
  known?: ReadRecords<Rec, State>,
): Promise<ReadRecords<Rec, State>> {
  const logId = logIdOf(shape, id);
  const added = known?.end && (await entriesSince(log, logId, known.end));
  if (known && added) return addEntries(known.contents, added, known.end);
  const entries = await entriesAfter(log, logId, 0);
  assertShape(shape.name, logId, entries);
  // After a pruning, only parts of the earlier appends remain.
  const from = Math.max(0, entries.findLastIndex(isRestated));
  return addEntries(new LogContents(shape, id), entries.slice(from), undefined);
}

function assertShape(expected: LogShapeName, logId: string, [first]: readonly Entry[]): void {
  if (first === undefined) return;
  const found = first.records.find(isShapeRecord)?.shape ?? "agent";
  if (found !== expected) throw new WrongShapeError(logId, found, expected);
}

/**
 * Returns the entries after an append. Returns `undefined` if the append is gone, or if the log was restated after it.
 */
async function entriesSince(log: Readable, logId: string, end: ChainLink): Promise<readonly Entry[] | undefined> {
  const [first, ...added] = await entriesAfter(log, logId, end.position - 1);
  if (first?.position !== end.position || first.checksum !== end.checksum) return undefined;
  return added.some(isRestated) ? undefined : added;
}

function entriesAfter(log: Readable, logId: string, after: number): Promise<readonly Entry[]> {
  return readStored(log, logId, { after, sinceSnapshot: true });
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
  const last = entries.at(-1);
  return { contents, end: last ? { position: last.position, checksum: last.checksum } : end };
}

export class ShapeValues {
  readonly #log: RecordLog;
  readonly #logId: string;
  readonly #decoded: DecodedValues = new WeakMap();

  constructor(log: RecordLog, logId: string) {
    this.#log = log;
    this.#logId = logId;
  }

  /**
   * Returns the frozen values. The same stored object always gives the same value. Each call reads blobs again.
   *
   * @throws UnreadableValueError, CorruptBlobError, StorageError
   */
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
