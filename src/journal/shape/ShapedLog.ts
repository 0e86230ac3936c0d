import { type BlobUpload, BlobWriter } from "../../checkpoint/format/BlobWriter.ts";
import { entryBytes, type LogRecord, type Entry, type PrunedGap } from "../../checkpoint/records/Entry.ts";
import type { ShapePrunedRecord, ShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import type { AgentSummary, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { SnapshotDue } from "../../storage/SnapshotDue.ts";
import {
  type ReadRecords,
  readRecords,
  readStored,
  ShapeValues,
  invalidRecordField,
  recordFields,
} from "./readRecords.ts";
import { type ShapeDefinition, logIdOf, type ShapeState, shapeSummary } from "./ShapeDefinition.ts";
import { type AppendOptions, LogWriter } from "../writer/LogWriter.ts";
import type { ShapeViews } from "./readShape.ts";
import { EntryChain } from "../../checkpoint/format/EntryChain.ts";
import { prunedRanges } from "../../checkpoint/pruning/liveEntries.ts";
import { blobCellsOf } from "../../checkpoint/records/blobReferences.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";

/** The minimum time between updates of a summary, because some storages need a full append for each update. */
const summaryEveryMs = 60_000;

/** The content of a new log, which need not be read from the storage. */
const emptyLog: Pick<RecordLog, "read"> = { read: async function* () {} };

interface ShapedLogOptions {
  readonly storage: LogStorage;
  /** The id that callers use. The stored id is prefixed by the kind of the log. */
  readonly id: string;
  readonly clock?: Clock | undefined;
}

interface OpenOptions<Rec extends LogRecord, State extends ShapeState<Rec>> extends ShapedLogOptions {
  /** Contains the last known state, and receives the state when the log is released. */
  readonly views?: ShapeViews<Rec, State> | undefined;
}

/** An owned log that belongs to no agent. It is read when it is opened, and then only written. */
export class ShapedLog<Rec extends LogRecord, State extends ShapeState<Rec>> implements AsyncDisposable {
  readonly id: string;
  #read: ReadRecords<Rec, State>;
  /** The durable appends after {@link #read}. Empty if the state is not cached after the release. */
  #written: (readonly LogRecord[])[] = [];
  /** False after a record that contradicts earlier records. */
  #isSound = true;
  #appended = 0;
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #clock: Clock;
  readonly #log: RecordLog;
  readonly #views: ShapeViews<Rec, State> | undefined;
  readonly #blobs: BlobWriter;
  readonly #values: ShapeValues;
  readonly #writer: LogWriter<LogRecord>;
  readonly #snapshotDue = new SnapshotDue();
  #createdAt: number | undefined;
  #isDropped = false;
  #listedAt = -Infinity;
  #listedAs: string | undefined;
  #unreadBytes: number;

  private constructor(
    shape: ShapeDefinition<Rec, State>,
    { storage, id, clock = systemClock, views }: OpenOptions<Rec, State>,
    read: ReadRecords<Rec, State>,
    sha256: Sha256,
    owned: OwnedLog,
  ) {
    const { log, inlineThresholdBytes, compressThresholdBytes } = storage;
    const { createdAt, unreadBytes, blobs } = read.contents;
    const agentId = logIdOf(shape, id);
    this.id = id;
    this.#read = read;
    this.#views = views;
    this.#shape = shape;
    this.#clock = clock;
    this.#log = log;
    this.#blobs = new BlobWriter({ sha256, inlineThresholdBytes, blobs: blobs.values() });
    this.#values = new ShapeValues(log, agentId);
    const onAppended = views ? (records: readonly LogRecord[]) => void this.#written.push(records) : () => {};
    this.#writer = new LogWriter({ log, owned, agentId, compressThresholdBytes, onAppended });
    this.#createdAt = createdAt;
    this.#unreadBytes = unreadBytes;
  }

  /**
   * Takes ownership and then reads the log, which then contains all records of earlier owners.
   *
   * @throws AgentBusyError, WrongShapeError, CorruptLogError, UnreadableValueError, UnsupportedFormatError,
   *   UnsupportedRecordError
   */
  static async open<Rec extends LogRecord, State extends ShapeState<Rec>>(
    shape: ShapeDefinition<Rec, State>,
    options: OpenOptions<Rec, State>,
  ): Promise<ShapedLog<Rec, State>> {
    const { storage, id, views } = options;
    const sha256 = await storage.sha256();
    const owned = await storage.log.open(logIdOf(shape, id), processOwner());
    try {
      if (owned.damage) throw owned.damage;
      const log = owned.position === 0 ? emptyLog : storage.log;
      const read = await readRecords(shape, log, id, { known: views?.take(id) });
      return new ShapedLog(shape, options, read, sha256, owned);
    } catch (error) {
      await owned.release();
      throw error;
    }
  }

  /** The state after all appended records, even if they are not durable yet. Unusable after a failed append. */
  get state(): State {
    return this.#read.contents.state;
  }

  get position(): number {
    return this.#writer.position;
  }

  get generation(): number {
    return this.#writer.generation;
  }

  /** Aborted when this process has lost the log or must release it. */
  get lost(): AbortSignal {
    return this.#writer.lost;
  }

  checkStop(): Promise<void> {
    return this.#writer.checkStop();
  }

  /** True after a failed append or {@link drop}. No more records can be written. */
  get failed(): boolean {
    return this.#isDropped || this.#writer.failed;
  }

  /**
   * Returns the stored form of a value, for a record that is appended in the same turn. A large value becomes a blob.
   *
   * @throws NotSerializableError
   */
  value(value: unknown, subject: string): StoredValue {
    return this.#blobs.value(value, subject);
  }

  /** Decodes stored values, as {@link ShapeValues.read} does, after their blobs are durable. */
  async read(values: readonly StoredValue[]): Promise<unknown[]> {
    await this.durable();
    return this.#values.read(values);
  }

  /**
   * Adds records to the state and queues them for the append of this turn. With `last`, the append starts at once.
   * @throws InvalidInputError for a record that a reader would reject. No record is added.
   */
  append(records: readonly Rec[], { last = false }: { readonly last?: boolean } = {}): void {
    const fields = recordFields(this.#shape);
    for (const record of records) {
      const path = invalidRecordField(fields, record);
      if (path !== undefined)
        throw new InvalidInputError(`${record.kind} to record`, [{ path, expected: "found invalid value" }]);
    }
    this.#add(records);
    this.#appended++;
    const added = this.#createdAt === undefined ? [this.#header(), ...records] : records;
    const bytes = entryBytes(added);
    this.#unreadBytes += bytes;
    this.#push(added, { last, bytes });
    this.#restateIfDue();
  }

  #add(records: readonly Rec[]): void {
    try {
      for (const record of records) this.state.add(record);
    } catch (error) {
      this.#isSound = false;
      throw error;
    }
  }

  durable(): Promise<void> {
    return this.#writer.durable();
  }

  /** Reads the whole log if {@link state} was read from a part of the log. */
  async readWhole(): Promise<void> {
    for (;;) {
      const before = this.#appended;
      await this.durable();
      const read = await readRecords(this.#shape, this.#log, this.id, { whole: true });
      if (before !== this.#appended) continue;
      [this.#read, this.#written] = [read, []];
      return;
    }
  }

  store(records: readonly Rec[]): Promise<void> {
    this.append(records, { last: true });
    return this.durable();
  }

  /**
   * Replaces all appends by the current state, and removes unused blobs. Does nothing if this frees no space, or if the
   * log can be read from a part.
   *
   * @returns the approximate number of freed bytes.
   */
  async prune(): Promise<{ readonly bytes: number }> {
    if (this.#shape.part) return { bytes: 0 };
    await this.durable();
    const logId = logIdOf(this.#shape, this.id);
    const [stored, left] = [await readStored(this.#log, logId), await this.#log.unremovedBytes?.(logId)];
    // An `await` before the append would let other records in between.
    const restated = this.#restated();
    const plan = planShapePruning(this.#shape, stored, restated);
    const { gaps, blobs } = plan;
    const freed = plan.bytes + (left ?? 0);
    if (freed <= 0) return { bytes: 0 };
    const pruned: ShapePrunedRecord = { kind: "pruned", gaps, blobs };
    // Later records must store these blobs again. The blobs are removed before the next append.
    this.#blobs.forgetBlobs(new Set(blobs));
    const bytes = estimateBytes(restated);
    this.#unreadBytes = bytes;
    let removed: Promise<void> | undefined;
    const afterwards = (): Promise<void> => (removed = this.#writer.removePruned(blobs)).catch(() => {});
    this.#push([...restated, pruned], { snapshot: true, bytes, afterwards });
    await this.durable();
    await removed;
    return { bytes: freed };
  }

  drop(): Promise<void> {
    this.#isDropped = true;
    return this.#writer.drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.release();
    if (this.#isSound && !this.failed) this.#views?.keep(this.id, { ...this.#read, written: this.#written });
  }

  #push(records: readonly LogRecord[], options: AppendOptions): void {
    const summary = this.#summaryIfDue();
    this.#writer.push(records, this.#uploadsOf(records), { ...options, ...(summary && { summary }) });
  }

  #uploadsOf(records: readonly LogRecord[]): readonly BlobUpload[] {
    if (this.#blobs.uploads === 0) return [];
    return this.#blobs.take(new Set(records.flatMap((record) => cellsIn(this.#shape, record))));
  }

  #header(): ShapeRecord {
    const { name, version } = this.#shape;
    this.#createdAt ??= this.#clock.now();
    return { kind: "shape", shape: name, version, at: this.#createdAt };
  }

  #restated(): readonly LogRecord[] {
    const header: ShapeRecord = { ...this.#header(), restates: true };
    return [header, ...this.state.restate()];
  }

  /** If due, appends the state or a part of it again, so that the next opening reads little more. */
  #restateIfDue(): void {
    const place = this.#shape.part ? "lane" : "step";
    if (!this.#snapshotDue.isDue(place, this.#unreadBytes)) return;
    const restated = this.#shape.part ? this.#restatedPart() : this.#restated();
    const bytes = estimateBytes(restated);
    if (!this.#snapshotDue.tried(place, this.#unreadBytes, bytes) || restated.length === 0) return;
    this.#unreadBytes = bytes;
    this.#push(restated, { snapshot: true, bytes });
  }

  /** Returns an empty list if the log cannot be read from a part of its state. */
  #restatedPart(): readonly LogRecord[] {
    const part = this.#shape.part?.(this.state) ?? [];
    const header: ShapeRecord = { ...this.#header(), part: part.length };
    return part.length === 0 ? [] : [header, ...part];
  }

  #summaryIfDue(): AgentSummary | undefined {
    const now = this.#clock.now();
    const status = this.#shape.status?.(this.state) ?? this.#shape.name;
    const isListed = status === this.#listedAs && !this.#shape.dueAt;
    if (isListed && Math.abs(now - this.#listedAt) < summaryEveryMs) return undefined;
    this.#listedAt = now;
    this.#listedAs = status;
    const dueAt = this.#shape.dueAt?.(this.state);
    return { ...shapeSummary(this.#shape, this.id, this.#createdAt ?? now, now, dueAt), status };
  }
}

interface ShapePruning {
  readonly gaps: readonly PrunedGap[];
  readonly blobs: readonly string[];
  /** The approximate number of freed bytes. The log is pruned only if this is positive. */
  readonly bytes: number;
}

type Values<Rec extends LogRecord> = Pick<ShapeDefinition<Rec, ShapeState<Rec>>, "records" | "values">;

/** Plans a pruning. @param stored The appends, oldest first. @param restated The records that replace these appends. */
function planShapePruning<Rec extends LogRecord>(
  shape: Values<Rec>,
  stored: readonly Entry[],
  restated: readonly LogRecord[],
): ShapePruning {
  const gaps = prunedRanges(stored);
  const chain = new EntryChain(gaps);
  const kept = new Set(restated.flatMap((record) => cellsIn(shape, record).map(([reference]) => reference)));
  const blobs = new Map<string, number>();
  let bytes = -entryBytes(restated);
  for (const { position, records } of stored) {
    if (chain.isPruned(position)) bytes += entryBytes(records);
    for (const [reference, length] of records.flatMap((record) => namedIn(shape, record)))
      if (!kept.has(reference)) blobs.set(reference, length);
  }
  for (const length of blobs.values()) bytes += length;
  return { gaps, blobs: [...blobs.keys()], bytes };
}

/** Returns the blobs of a record, or those that an earlier pruning may have failed to remove. */
function namedIn<Rec extends LogRecord>(shape: Values<Rec>, record: LogRecord): readonly (readonly [string, number])[] {
  if (record.kind !== "pruned") return cellsIn(shape, record).map(([reference, length]) => [reference, length]);
  return (record as ShapePrunedRecord).blobs.map((reference) => [reference, 0]);
}

/** Returns the blobs of a record. Records that all kinds of logs share have no blobs. */
function cellsIn<Rec extends LogRecord>(shape: Values<Rec>, record: LogRecord): readonly BlobCell[] {
  return record.kind in shape.records ? shape.values(record as Rec).flatMap(blobCellsOf) : [];
}
