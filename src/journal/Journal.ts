import type { ModelUsage } from "../checkpoint/tokenUsage/ModelUsage.ts";
import { packsIn, valueBytes } from "../checkpoint/records/blobReferences.ts";
import { estimateBytes } from "../checkpoint/values/estimateBytes.ts";
import { leanRecords } from "../checkpoint/format/leanRecords.ts";
import { entryBytes, type Entry, type TornTail } from "../checkpoint/records/Entry.ts";
import { type CheckpointNames, CheckpointPositions } from "../checkpoint/lines/CheckpointNames.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { LastPruning } from "../checkpoint/records/SnapshotRecord.ts";
import type { AgentRecord, PrunedRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../checkpoint/records/lineRecords.ts";
import { assertReadable } from "../checkpoint/format/validateRecord.ts";
import { statusAfter, type StatusState } from "../checkpoint/state/StatusState.ts";
import type { MessageNumbers } from "../checkpoint/messages/MessageHistory.ts";
import { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import { AgentBusyError } from "../errors/storageErrors.ts";
import type { Clock } from "../internal/Clock.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { type AgentHead, emptyHead, readHead } from "../storage/readHead.ts";
import { readPaced, withLastCheckpoint } from "../storage/readEntries.ts";
import type { LogStorage } from "../storage/PersistenceStorageProvider.ts";
import type { SnapshotDue } from "../storage/SnapshotDue.ts";
import { processOwner } from "../storage/ReleasableLog.ts";
import type {
  AgentSummary,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  RebuiltSummary,
  RecordLog,
} from "../storage/RecordLog.ts";
import type { BlobCells } from "../checkpoint/values/BlobCell.ts";
import { assertCustody, type CustodyUse } from "./assertCustody.ts";
import { agentSummary, mostCheckpoints } from "./agentSummary.ts";
import { HeadSnapshots } from "./HeadSnapshots.ts";
import { type AppendListener, type AppendOptions, LogWriter } from "./writer/LogWriter.ts";

export interface JournalOptions {
  readonly storage: LogStorage;
  readonly agentId: string;
  readonly clock: Clock;
  readonly listener?: (generation: number, index: LogProjection) => AppendListener<AgentRecord>;
  readonly maxCheckpointBytes: number;
  /** `take_over` opens a copy although the original can still run. `move` opens an agent that is being moved. */
  readonly custody?: CustodyUse | undefined;
  /** True if the caller rejects an empty log, so that the storage need not create files. */
  readonly mustExist?: boolean | undefined;
}

/** The log of an owned agent with all its data. It is read when it is opened, and then only written. */
export class Journal implements AsyncDisposable {
  readonly agentId: string;
  readonly clock: Clock;
  readonly writer: ValueWriter;
  /** The head when the log was opened, until {@link forgetHead}. Its state is `undefined` for a new agent. */
  head: AgentHead | undefined;
  /** All finished runs, including those that finish while this journal is open. */
  readonly runs: CheckpointPositions;
  readonly cancelled: Set<string>;
  readonly named: CheckpointPositions;
  readonly names: CheckpointNames;
  readonly structures: Set<string>;
  pruned: LastPruning | undefined;
  nextVersion: number;
  nextLane: number;
  readonly numbers: MessageNumbers;
  readonly maxCheckpointBytes: number;
  /** The estimated number of bytes that the next opening reads: the newest snapshot and all later appends. */
  unreadBytes: number;
  /** The estimated number of bytes that were read when the log was opened, or appended later. */
  storedBytes: number;
  running = false;
  /** The ids of the calls and requests whose failures ended a node. */
  readonly failedCalls = new Set<string>();
  /** Returns whether the caller disposes this journal when the current run has completed. */
  endsWithRun: (() => boolean) | undefined;
  usage: ModelUsage | undefined;
  /** Verifies the output before the end of the run is recorded, and returns the data to record with it. */
  endFacts: ((output: unknown) => Promise<Pick<CheckpointRecord, "verification" | "files">>) | undefined;
  /** Decides when to make a snapshot. All journals of the agent in this process share it. */
  snapshotDue: SnapshotDue;
  readonly #recordLog: RecordLog;
  readonly #owned: OwnedLog;
  readonly #log: LogWriter<AgentRecord>;
  readonly headSnapshots: HeadSnapshots;
  /** The number of bytes that were appended since the log was opened, by lane. Includes blobs, but not snapshots. */
  readonly #valueBytes = new Map<number, number>();
  #statusState: StatusState;
  /** The value of {@link nextVersion} at the last write of the agent's summary. */
  #listedVersion: number;

  private constructor(
    options: JournalOptions,
    readonly sha256: Sha256,
    owned: OwnedLog,
    head: AgentHead,
    readonly nonce: string,
  ) {
    const { index } = head.log;
    const { log, inlineThresholdBytes, compressThresholdBytes } = options.storage;
    this.agentId = options.agentId;
    this.clock = options.clock;
    this.maxCheckpointBytes = options.maxCheckpointBytes;
    this.head = head;
    this.#statusState = index.statusState;
    this.usage = index.run && index.usageOf(index.run.run);
    this.runs = new CheckpointPositions(index.runs);
    this.cancelled = new Set(index.cancelled);
    this.named = new CheckpointPositions(index.named);
    this.names = index.names;
    this.structures = new Set(index.structures);
    this.pruned = index.pruned;
    this.nextVersion = index.nextVersion;
    this.#listedVersion = index.nextVersion;
    // After a deletion, positions and lane numbers are higher than all earlier ones, so that call ids stay unique.
    this.nextLane = index.position === 0 ? owned.position + 1 : index.nextLane;
    this.numbers = { next: index.nextNumber };
    this.unreadBytes = index.bytes;
    this.storedBytes = index.bytes;
    this.snapshotDue = head.snapshotDue;
    const contents = index.contents.keys();
    this.writer = new ValueWriter({ sha256, inlineThresholdBytes, blobs: index.valueBlobs.values(), contents });
    this.#recordLog = log;
    this.#owned = owned;
    const onAppended = options.listener?.(owned.generation, index) ?? (() => {});
    const { agentId } = this;
    this.#log = new LogWriter({ log, owned, agentId, compressThresholdBytes, stored: leanRecords, onAppended });
    this.headSnapshots = new HeadSnapshots(this, log, this.#log);
  }

  /**
   * Takes ownership, and then reads the log with all records of earlier owners.
   * @throws AgentBusyError, CorruptLogError, AgentMovedError, AgentCopiedError
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { agentId, storage } = options;
    const sha256 = await storage.sha256();
    const owner = processOwner();
    const owned = await own(options, owner);
    try {
      if (owned.damage) throw owned.damage;
      const head = owned.position ? await readHead(storage.log, agentId) : emptyHead(agentId);
      const journal = new Journal(options, sha256, owned, head, owner.nonce);
      await assertCustody(journal, options.custody);
      return journal;
    } catch (error) {
      await owned.release();
      noncesOf(storage.log).delete(owner.nonce);
      throw error;
    }
  }

  /** Reads the head again after a move by this journal. */
  async readHead(): Promise<void> {
    this.head?.[Symbol.dispose]();
    this.head = await this.readNow();
    this.snapshotDue = this.head.snapshotDue;
  }

  async readNow(): Promise<AgentHead> {
    await this.durable();
    return readHead(this.#recordLog, this.agentId);
  }

  /** Frees the data that was read when the log was opened. Call it when a run has continued from the data. */
  forgetHead(): void {
    this.head = undefined;
  }

  get position(): number {
    return this.#log.position;
  }

  get generation(): number {
    return this.#log.generation;
  }

  get lost(): AbortSignal {
    return this.#log.lost;
  }

  get tornTail(): TornTail | undefined {
    return this.#owned.tornTail;
  }

  get rebuilt(): RebuiltSummary | undefined {
    return this.#owned.rebuilt;
  }

  get keeps(): LogCapabilities["keeps"] {
    return this.#recordLog.capabilities.keeps;
  }

  get failed(): boolean {
    return this.#log.failed;
  }

  get statusState(): StatusState {
    return this.#statusState;
  }

  /**
   * Queues records with values from {@link writer}, and a summary if the status changes. {@link durable} resolves when
   * they are stored. With `last`, the append starts at once. With `releases`, the caller disposes this journal next.
   */
  append(records: readonly AgentRecord[], { last, releases }: Pick<AppendOptions, "last" | "releases"> = {}): void {
    assertReadable(records);
    const snapshot = records.some(({ kind }) => kind === "snapshot");
    const bytes = this.#count(records);
    const before = this.#statusState;
    for (const record of records) this.#statusState = statusAfter(this.#statusState, record, this.generation);
    const { current, task, custody } = this.#statusState;
    const changed = current !== before.current || task !== before.task || custody !== before.custody;
    const counted = current?.status !== "in_progress" && this.nextVersion !== this.#listedVersion;
    const summary = changed || counted ? this.#summary() : undefined;
    this.#log.push(records, this.writer.takeUploads(records), {
      snapshot,
      bytes,
      last,
      releases: releases && !this.headSnapshots.making,
      ...(summary && { summary }),
    });
  }

  #summary(): AgentSummary | undefined {
    this.#listedVersion = this.nextVersion;
    return agentSummary(this.agentId, this.#statusState, mostCheckpoints(this));
  }

  #count(records: readonly AgentRecord[]): number {
    const snapshot = records.find(({ kind }) => kind === "snapshot");
    const own = records.filter((record) => record !== snapshot);
    const bytes = entryBytes(own);
    const lane = own.find((record) => "lane" in record)?.lane ?? 0;
    this.#valueBytes.set(lane, this.valueBytesOn(lane) + valueBytes(own, bytes));
    this.storedBytes += bytes;
    this.unreadBytes = snapshot ? estimateBytes(snapshot) : this.unreadBytes + bytes;
    if (own.some((record) => record.kind === "edit" || (record.kind === "storage" && !("value" in record))))
      this.snapshotDue.shortened();
    return bytes;
  }

  valueBytesOn(lane: number): number {
    return this.#valueBytes.get(lane) ?? 0;
  }

  store(records: readonly AgentRecord[]): Promise<void> {
    this.append(records);
    return this.durable();
  }

  /** Returns all stored entries, oldest first, including pruned entries that are not removed yet. */
  async readStored(): Promise<readonly Entry[]> {
    await this.durable();
    return readPaced(this.#recordLog, this.agentId);
  }

  /** Returns whether an entry is still the last entry. Its checksum covers all earlier entries. */
  async endsWith({ position, checksum }: Entry): Promise<boolean> {
    if (this.position !== position) return false;
    for await (const entry of this.#recordLog.read(this.agentId, { after: position - 1 }))
      if (entry.position === position) return entry.checksum === checksum;
    return false;
  }

  /**
   * Prunes the log, so that readers skip the replaced entries. Call {@link removePruned} next. Until then, the summary
   * has no number of checkpoints, so that lists show an unfinished pruning.
   */
  async prune(record: PrunedRecord): Promise<void> {
    await this.headSnapshots.close();
    const summary = agentSummary(this.agentId, this.#statusState);
    this.#log.push([record], [], summary && { summary });
    await this.durable();
    this.pruned = [this.nextVersion - 1, keptBy(record)];
    this.unreadBytes = estimateBytes(record);
    this.writer.forgetBlobs(new Set(record.blobs));
    this.writer.forgetContents(new Set(contentsIn(record)));
  }

  /** Removes the data of a durable pruning, and stores a summary with the number of checkpoints. */
  async removePruned(blobs: readonly string[]): Promise<void> {
    await this.#log.removePruned(blobs);
    const summary = this.#summary();
    if (summary) this.#log.push([], [], { summary });
    await this.durable();
  }

  async drop(): Promise<void> {
    await this.headSnapshots.close();
    await this.#log.drop();
  }

  /** Resolves when all appended records are durable. Rejects if an append failed, so that its outcome is unknown. */
  durable(): Promise<void> {
    return this.#log.durable();
  }

  /** Resolves when the queue has room. For callers that do not wait until records are durable. */
  room(): Promise<void> {
    return this.#log.room();
  }

  readValues(references: BlobCells): Promise<AgentLog> {
    return AgentLog.ofValues(this.#recordLog, this.agentId, references);
  }

  async readAll(needsValues?: (record: AgentRecord) => boolean): Promise<AgentLog> {
    await this.durable();
    return AgentLog.read(this.#recordLog, this.agentId, {}, needsValues);
  }

  /** Releases the agent. Stores queued records first, unless an append has failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.headSnapshots.close();
      if (!this.failed) await this.durable();
      this.head?.[Symbol.dispose]();
    } finally {
      this.forgetHead();
      await this.#log.release();
      noncesOf(this.#recordLog).delete(this.nonce);
    }
  }
}

/** The owners in this process that own an agent of a log or try to open one. */
const nonces = new WeakMap<RecordLog, Set<string>>();

function noncesOf(log: RecordLog): Set<string> {
  const known = nonces.get(log) ?? new Set<string>();
  nonces.set(log, known);
  return known;
}

async function own({ storage: { log }, agentId, mustExist }: JournalOptions, owner: LogOwner): Promise<OwnedLog> {
  const known = noncesOf(log).add(owner.nonce);
  try {
    return await log.open(agentId, { ...owner, mustExist });
  } catch (error) {
    const isHere = error instanceof AgentBusyError && known.has(error.owner.nonce);
    known.delete(owner.nonce);
    if (isHere) throw new AgentBusyError(agentId, error.owner, error.retryAfterMs, true);
    throw await withLastCheckpoint(error, log, agentId);
  }
}

function keptBy({ restated }: PrunedRecord): number {
  return restated.flatMap(({ records }) => records).filter(({ kind }) => kind === "checkpoint" || kind === "ended")
    .length;
}

function contentsIn({ restated }: PrunedRecord): readonly string[] {
  const packs = restated.flatMap(({ records }) => records.flatMap(packsIn));
  return packs.flatMap(({ contents }) => contents.map(([hash]) => hash));
}
