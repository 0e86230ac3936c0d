import { type BlobUpload, BlobWriter } from "../../checkpoint/format/BlobWriter.ts";
import { entryBytes } from "../../checkpoint/format/entryBytes.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { ShapePrunedRecord, ShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { InvalidInputError } from "../../errors/agent/InvalidInputError.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { LogStorage } from "../../storage/LogStorage.ts";
import { processOwner } from "../../storage/processOwner.ts";
import type { AgentSummary, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { SnapshotDue } from "../../storage/SnapshotDue.ts";
import type { AppendOptions } from "./AppendQueue.ts";
import type { LogContents } from "./LogContents.ts";
import { type LogShape, logIdOf, type ShapeState } from "./LogShape.ts";
import { LogWriter } from "./LogWriter.ts";
import { cellsIn, planShapePruning } from "./planShapePruning.ts";
import { invalidRecordField, recordFields } from "./recordFields.ts";
import { readRecords, readStored } from "./readRecords.ts";
import { shapeSummary } from "./shapeSummary.ts";
import { ShapeValues } from "./ShapeValues.ts";

/** Lists are told at most this often that a log goes on: on some storages that costs as much as an append. */
const summaryEveryMs = 60_000;

/** Which log to open. */
export interface ShapedLogOptions {
  readonly storage: LogStorage;
  /** What users call it: without the name of its shape. */
  readonly id: string;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/**
 * One log of any shape but that of an agent, owned: read once when it is opened, then only written. Its state is always there,
 * with all that was appended.
 */
export class ShapedLog<Rec extends LogRecord, State extends ShapeState<Rec>> implements AsyncDisposable {
  readonly id: string;
  /** With all that was appended, durable or not. Of no use any more once an append has failed. */
  readonly state: State;
  readonly #shape: LogShape<Rec, State>;
  readonly #clock: Clock;
  readonly #log: RecordLog;
  readonly #blobs: BlobWriter;
  readonly #values: ShapeValues;
  readonly #writer: LogWriter<LogRecord>;
  readonly #snapshotDue = new SnapshotDue();
  #createdAt: number | undefined;
  #isDropped = false;
  #listedAt = -Infinity;
  #unreadBytes: number;

  private constructor(
    shape: LogShape<Rec, State>,
    { storage, id, clock = systemClock }: ShapedLogOptions,
    { state, createdAt, unreadBytes, blobs }: LogContents<Rec, State>,
    sha256: Sha256,
    owned: OwnedLog,
  ) {
    const { log, inlineThresholdBytes, compressThresholdBytes } = storage;
    const agentId = logIdOf(shape, id);
    this.id = id;
    this.state = state;
    this.#shape = shape;
    this.#clock = clock;
    this.#log = log;
    this.#blobs = new BlobWriter({ sha256, inlineThresholdBytes, blobs: blobs.values() });
    this.#values = new ShapeValues(log, agentId);
    this.#writer = new LogWriter({ log, owned, agentId, compressThresholdBytes, onAppended: () => {} });
    this.#createdAt = createdAt;
    this.#unreadBytes = unreadBytes;
  }

  /**
   * Takes ownership, then reads: what another owner might still write is never missed.
   *
   * @throws AgentBusyError while another owner is alive.
   * @throws WrongShapeError when the log is that of something else.
   * @throws CorruptLogError, UnreadableValueError when the log is damaged.
   * @throws UnsupportedFormatError, UnsupportedRecordError when a newer version wrote it.
   */
  static async open<Rec extends LogRecord, State extends ShapeState<Rec>>(
    shape: LogShape<Rec, State>,
    options: ShapedLogOptions,
  ): Promise<ShapedLog<Rec, State>> {
    const { storage, id } = options;
    const sha256 = await storage.sha256();
    const owned = await storage.log.open(logIdOf(shape, id), processOwner());
    try {
      if (owned.damage) throw owned.damage;
      const { contents } = await readRecords(shape, storage.log, id);
      return new ShapedLog(shape, options, contents, sha256, owned);
    } catch (error) {
      await owned.release();
      throw error;
    }
  }

  /** Of the last acknowledged append. */
  get position(): number {
    return this.#writer.position;
  }

  get generation(): number {
    return this.#writer.generation;
  }

  /** Aborted when another owner has the log, or when this one was asked to stop. */
  get lost(): AbortSignal {
    return this.#writer.lost;
  }

  /** As {@link LogWriter.checkStop}. */
  checkStop(): Promise<void> {
    return this.#writer.checkStop();
  }

  /** True after a failed append, and after {@link drop}: nothing more can be written. */
  get failed(): boolean {
    return this.#isDropped || this.#writer.failed;
  }

  /**
   * The stored form of a value, for a record that is appended in the same turn of the event loop. A large one becomes a blob,
   * the same content once.
   *
   * @param subject what the value is, for the error.
   * @throws NotSerializableError
   */
  value(value: unknown, subject: string): StoredValue {
    return this.#blobs.value(value, subject);
  }

  /** Decodes stored values, as {@link ShapeValues.read}. What they refer to is durable when it resolves. */
  async read(values: readonly StoredValue[]): Promise<unknown[]> {
    await this.durable();
    return this.#values.read(values);
  }

  /**
   * Adds records to the state, and queues them: what is appended in one turn of the event loop goes in one append.
   *
   * @param options.last whether nothing else is going to be appended in this turn, which is then not waited for.
   * @throws InvalidInputError for a record that a reader would refuse; nothing was added.
   */
  append(records: readonly Rec[], { last = false }: { readonly last?: boolean } = {}): void {
    const fields = recordFields(this.#shape);
    for (const record of records) {
      const path = invalidRecordField(fields, record);
      if (path !== undefined)
        throw new InvalidInputError(`${record.kind} to record`, [{ path, expected: "a value of another type" }]);
    }
    for (const record of records) this.state.add(record);
    const added = this.#createdAt === undefined ? [this.#header(), ...records] : records;
    const bytes = entryBytes(added);
    this.#unreadBytes += bytes;
    this.#push(added, { last, bytes });
    this.#restateIfDue();
  }

  /** Resolves when everything appended so far is durable; rejects if that is uncertain. */
  durable(): Promise<void> {
    return this.#writer.durable();
  }

  /** Resolves when there is room to append more. What does not wait until it is durable waits for this. */
  room(): Promise<void> {
    return this.#writer.room();
  }

  /** Appends records; they are durable when it resolves. */
  store(records: readonly Rec[]): Promise<void> {
    this.append(records, { last: true });
    return this.durable();
  }

  /**
   * Rewrites the log as what its state restates, and removes everything else, with the blobs that nothing refers to any more.
   * Nothing is done where that would free nothing. The first append of each owner stays.
   *
   * @returns about how many bytes were freed.
   */
  async prune(): Promise<{ readonly bytes: number }> {
    await this.durable();
    const logId = logIdOf(this.#shape, this.id);
    const [stored, left] = [await readStored(this.#log, logId), await this.#log.unremovedBytes?.(logId)];
    // From here to the append nothing else can be queued.
    const restated = this.#restated();
    const plan = planShapePruning(this.#shape, stored, restated);
    const { gaps, blobs } = plan;
    const freed = plan.bytes + (left ?? 0);
    if (freed <= 0) return { bytes: 0 };
    const pruned: ShapePrunedRecord = { kind: "pruned", gaps, blobs };
    // Contents that come up again are put again, after they were removed: that is done before the next append.
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

  /** Deletes the log and all its data. It cannot be used afterwards; its id is free. */
  drop(): Promise<void> {
    this.#isDropped = true;
    return this.#writer.drop();
  }

  /** Gives the log back. What was appended is stored first, unless an append has failed. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer.release();
  }

  #push(records: readonly LogRecord[], options: AppendOptions): void {
    const summary = this.#summaryIfDue();
    this.#writer.push(records, this.#uploadsOf(records), { ...options, ...(summary && { summary }) });
  }

  #uploadsOf(records: readonly LogRecord[]): readonly BlobUpload[] {
    if (this.#blobs.uploads === 0) return [];
    return this.#blobs.take(new Set(records.flatMap((record) => cellsIn(this.#shape, record))));
  }

  /** The record that the log begins with. */
  #header(): ShapeRecord {
    const { name, version } = this.#shape;
    this.#createdAt ??= this.#clock.now();
    return { kind: "shape", shape: name, version, at: this.#createdAt };
  }

  #restated(): readonly LogRecord[] {
    const header: ShapeRecord = { ...this.#header(), restates: true };
    return [header, ...this.state.restate()];
  }

  /** What an open reads stays within what the state takes and what was appended since, of which this is a small part. */
  #restateIfDue(): void {
    if (!this.#snapshotDue.isDue("step", this.#unreadBytes)) return;
    const restated = this.#restated();
    const bytes = estimateBytes(restated);
    if (!this.#snapshotDue.tried("step", this.#unreadBytes, bytes)) return;
    this.#unreadBytes = bytes;
    this.#push(restated, { snapshot: true, bytes });
  }

  #summaryIfDue(): AgentSummary | undefined {
    const now = this.#clock.now();
    if (Math.abs(now - this.#listedAt) < summaryEveryMs) return undefined;
    this.#listedAt = now;
    return shapeSummary(this.#shape, this.id, this.#createdAt ?? now, now);
  }
}
