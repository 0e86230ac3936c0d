import type { AgentState } from "../checkpoint/state/AgentState.ts";
import type { BlobCell } from "../checkpoint/values/BlobCell.ts";
import { addValueReferences, packsIn, valueBytes } from "../checkpoint/records/blobReferences.ts";
import { estimateBytes } from "../checkpoint/values/estimateBytes.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { LastPruning, Place } from "../checkpoint/records/SnapshotRecord.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import type { AgentRecord, PrunedRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import { invalidField } from "../checkpoint/format/validateRecord.ts";
import { statusAfter, type StatusState } from "../checkpoint/state/StatusState.ts";
import { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import type { Clock } from "../internal/Clock.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { processOwner } from "../storage/processOwner.ts";
import type { LogCapabilities, OwnedLog, RecordLog, TornTail } from "../storage/RecordLog.ts";
import { withLastCheckpoint } from "../storage/withLastCheckpoint.ts";
import { agentSummary } from "./agentSummary.ts";
import { AppendQueue, type AppendListener } from "./AppendQueue.ts";

/** What an append takes beside its records, roughly. */
const envelopeBytes = 120;

export interface JournalOptions {
  readonly log: RecordLog;
  readonly agentId: string;
  readonly clock: Clock;
  readonly sha256: Sha256;
  /** In bytes of UTF-8 JSON; larger values become blobs. */
  readonly inlineThresholdBytes: number;
  /** Makes who is told of each append once it is durable. Absent: nobody. */
  readonly listener?: (generation: number, index: LogProjection) => AppendListener;
  /** In bytes of UTF-8 JSON; larger blobs are compressed. */
  readonly compressThresholdBytes: number;
  /** What a checkpoint may add to the log, in bytes. */
  readonly maxCheckpointBytes: number;
}

/**
 * One agent's log, owned: folded once when it is opened, then only written. Everything that is stored of an agent goes
 * through one of these.
 */
export class Journal implements AsyncDisposable {
  readonly agentId: string;
  readonly clock: Clock;
  readonly sha256: Sha256;
  readonly writer: ValueWriter;
  /** What was read when the journal was opened, until {@link forgetHead}. The state is `undefined` for an agent never seen. */
  head: { readonly log: AgentLog; readonly state: AgentState | undefined } | undefined;
  /** Finished runs, with those that end while this journal is open. */
  readonly runs: Map<string, Place>;
  /** Of those, the ones that were cancelled. */
  readonly cancelled: Set<string>;
  readonly named: Map<string, Place>;
  readonly structures: Set<string>;
  /** When the log was pruned last; `undefined`: it never was. */
  pruned: LastPruning | undefined;
  nextVersion: number;
  nextLane: number;
  nextNumber: number;
  /** What a checkpoint may add to the log, in bytes. */
  readonly maxCheckpointBytes: number;
  /** What was appended since the newest snapshot, estimated in bytes. */
  appendedBytes: number;
  /** True while a run goes on through this journal: not before it begins, nor after it ended. */
  running = false;
  /** Looks at the output of the run before its end is recorded, and gives what is recorded with it. Absent: nothing does. */
  endFacts: ((output: unknown) => Promise<Pick<CheckpointRecord, "verification" | "files">>) | undefined;
  /** What was appended since this journal was opened, snapshots aside, with the blobs that it refers to: estimated in bytes. */
  valueBytes = 0;
  /** How much has to be appended before a snapshot is tried. */
  snapshotDueBytes = 1024 * 1024;
  readonly #recordLog: RecordLog;
  readonly #owned: OwnedLog;
  readonly #queue: AppendQueue;
  #statusState: StatusState;

  private constructor(
    options: JournalOptions,
    owned: OwnedLog,
    head: { readonly log: AgentLog; readonly state: AgentState | undefined },
  ) {
    const { index } = head.log;
    this.agentId = options.agentId;
    this.clock = options.clock;
    this.sha256 = options.sha256;
    this.maxCheckpointBytes = options.maxCheckpointBytes;
    this.head = head;
    this.#statusState = index.statusState;
    this.runs = new Map(index.runs);
    this.cancelled = new Set(index.cancelled);
    this.named = new Map(index.named);
    this.structures = new Set(index.structures);
    this.pruned = index.pruned;
    this.nextVersion = index.nextVersion;
    this.nextLane = index.nextLane;
    this.nextNumber = index.nextNumber;
    this.appendedBytes = index.entries * envelopeBytes;
    for (const records of index.laneRecords.values())
      for (const { record } of records) this.appendedBytes += estimateBytes(record);
    this.writer = new ValueWriter({
      sha256: options.sha256,
      inlineThresholdBytes: options.inlineThresholdBytes,
      blobs: blobsIn(index),
      contents: index.contents.keys(),
    });
    this.#recordLog = options.log;
    this.#owned = owned;
    const onAppended = options.listener?.(owned.generation, index) ?? (() => {});
    const { compressThresholdBytes } = options;
    this.#queue = new AppendQueue(owned, options.log.blobs, options.agentId, { compressThresholdBytes, onAppended });
  }

  /**
   * Takes ownership, then reads: what another owner might still write is never missed.
   *
   * @throws AgentBusyError while another owner is alive.
   * @throws CorruptLogError when the log is damaged.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const owned = await own(options);
    try {
      return new Journal(options, owned, await AgentLog.readHead(options.log, options.agentId));
    } catch (error) {
      await owned.release();
      throw error;
    }
  }

  /** Reads the head again, after a move of this journal's own. */
  async readHead(): Promise<void> {
    await this.durable();
    this.head = await AgentLog.readHead(this.#recordLog, this.agentId);
  }

  /** Frees what was read at the start, once a run goes on from it. */
  forgetHead(): void {
    this.head = undefined;
  }

  /** The position of the last acknowledged append. */
  get position(): number {
    return this.#queue.position;
  }

  get generation(): number {
    return this.#owned.generation;
  }

  /** Aborted when the log is no longer ours to write. */
  get lost(): AbortSignal {
    return this.#owned.lost;
  }

  /** What a crash left of an append that the open passed over; `undefined`: nothing. */
  get tornTail(): TornTail | undefined {
    return this.#owned.tornTail;
  }

  /** What the storage keeps: everything, or checkpoints alone. */
  get keeps(): LogCapabilities["keeps"] {
    return this.#recordLog.capabilities.keeps;
  }

  /** True after a failed append: nothing more can be written. */
  get failed(): boolean {
    return this.#queue.failure !== undefined;
  }

  /** The agent's status, with everything appended so far. */
  get statusState(): StatusState {
    return this.#statusState;
  }

  /**
   * Queues records; {@link durable} tells when they are stored. The values in them were written by {@link writer}. When
   * they change the agent's status, its summary goes with them.
   *
   * @param options.snapshot whether a snapshot is among them.
   * @param options.last whether nothing else is going to be queued in this turn of the event loop, which is then not
   * waited for.
   */
  append(
    records: readonly AgentRecord[],
    { snapshot = false, last = false }: { readonly snapshot?: boolean; readonly last?: boolean } = {},
  ): void {
    assertReadable(records);
    const bytes = estimateBytes(records);
    this.appendedBytes = snapshot ? 0 : this.appendedBytes + envelopeBytes + bytes;
    if (!snapshot) this.valueBytes += valueBytes(records, bytes);
    const before = this.#statusState;
    for (const record of records) this.#statusState = statusAfter(this.#statusState, record, this.generation);
    const { current, task } = this.#statusState;
    const changed = current !== before.current || task !== before.task;
    const summary = changed ? agentSummary(this.agentId, this.#statusState) : undefined;
    this.#queue.push(records, this.writer.takeUploads(), {
      snapshot,
      // A storage that answers at once would let nothing else run between two steps: no timer, no signal.
      last: last && this.#recordLog.capabilities.durable,
      ...(summary && { summary }),
    });
  }

  /** Everything that is stored, oldest first, as it is stored. */
  async readStored(): Promise<readonly Entry[]> {
    await this.durable();
    const entries: Entry[] = [];
    for await (const entry of this.#recordLog.read(this.agentId)) entries.push(entry);
    return entries;
  }

  /** Whether an entry that was read is still the last. Its checksum covers all before it, so that those are the same, too. */
  async endsWith({ position, checksum }: Entry): Promise<boolean> {
    if (this.position !== position) return false;
    for await (const entry of this.#recordLog.read(this.agentId, { after: position - 1 }))
      if (entry.position === position) return entry.checksum === checksum;
    return false;
  }

  /**
   * Prunes, when it resolves: from then on what the record names is passed over. {@link removePruned} is to follow. The status
   * goes with it, since the appends that said it may be among those that go.
   */
  async prune(record: PrunedRecord): Promise<void> {
    const summary = agentSummary(this.agentId, this.#statusState);
    this.#queue.push([record], [], summary && { summary });
    await this.durable();
    this.pruned = [this.nextVersion - 1, keptBy(record)];
    this.writer.forgetBlobs(new Set(record.blobs));
    this.writer.forgetContents(new Set(contentsIn(record)));
  }

  /**
   * Removes what a pruning that is durable left out. The blobs go first: while appends are there that it names, a crash or
   * a full disk came between, and all of this is to be done again.
   */
  async removePruned(positions: readonly number[], blobs: readonly string[]): Promise<void> {
    for (const reference of blobs) await this.#recordLog.blobs.delete(this.agentId, reference);
    await this.#owned.prune(positions);
  }

  /** Removes the agent with all it has. Nothing can be done with this journal afterwards. */
  async drop(): Promise<void> {
    await this.durable();
    await this.#owned.drop();
  }

  /** Resolves when everything appended so far is durable; rejects when it may not be. */
  durable(): Promise<void> {
    return this.#queue.durable();
  }

  /** The whole log as it is stored now, with everything appended so far. */
  async readAll(): Promise<AgentLog> {
    await this.durable();
    return AgentLog.read(this.#recordLog, this.agentId);
  }

  /** Gives the agent back. What is still queued is stored first, unless storing has failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.failed) await this.durable();
    } finally {
      await this.#owned.release();
    }
  }
}

async function own({ log, agentId }: JournalOptions): Promise<OwnedLog> {
  try {
    return await log.open(agentId, processOwner());
  } catch (error) {
    throw await withLastCheckpoint(error, log, agentId);
  }
}

function keptBy({ restated }: PrunedRecord): number {
  return restated.flatMap(({ records }) => records).filter(({ kind }) => kind === "checkpoint").length;
}

function contentsIn({ restated }: PrunedRecord): readonly string[] {
  const packs = restated.flatMap(({ records }) => records.flatMap(packsIn));
  return packs.flatMap(({ contents }) => contents.map(([hash]) => hash));
}

function blobsIn(index: LogProjection): Iterable<BlobCell> {
  const cells = new Map<string, BlobCell>();
  for (const records of index.laneRecords.values()) for (const { record } of records) addValueReferences(record, cells);
  for (const run of index.runRecords.values()) addValueReferences(run, cells);
  if (index.snapshot) addValueReferences(index.snapshot.record, cells);
  return cells.values();
}

/** Values of wrong types come from plain JavaScript and from models; what reading refuses must not get into the log. */
function assertReadable(records: readonly AgentRecord[]): void {
  for (const record of records) {
    const path = invalidField(record);
    if (path === undefined) continue;
    const found = typeof (record as unknown as Readonly<Record<string, unknown>>)[path];
    throw new InvalidInputError(`${record.kind} to record`, [{ path, expected: `another type than ${found}` }]);
  }
}
