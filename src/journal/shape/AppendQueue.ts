import type { BlobUpload } from "../../checkpoint/format/BlobWriter.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import { putBlobs } from "../../storage/putBlobs.ts";
import type { AgentSummary, OwnedLog } from "../../storage/RecordLog.ts";

/** What is appended together with records. */
export interface AppendOptions {
  readonly summary?: AgentSummary;
  readonly snapshot?: boolean;
  /** About how many bytes the records take. Default: 0. */
  readonly bytes?: number;
  /** Runs once this is durable, before the next append begins. Must not reject. Default: nothing. */
  readonly afterwards?: () => Promise<void>;
  /** True when the caller queues nothing else in this turn of the event loop: the append then starts at once. */
  readonly last?: boolean;
}

/** Called with what was appended once it is durable, before `durable()` resolves. Must not throw. */
export type AppendListener<Rec extends LogRecord> = (records: readonly Rec[]) => void;

/** Records and the position of their append. */
export interface Appended<Rec extends LogRecord> {
  readonly position: number;
  readonly records: readonly Rec[];
}

/** What is appended from a moment on. */
export interface Following<Rec extends LogRecord> {
  /** Of the last append that was acknowledged before. */
  readonly position: number;
  /** All of it until now, with what is in flight and what is queued under the positions that these get. */
  readonly end: () => readonly Appended<Rec>[];
}

/** What waits to be appended is held in memory: from about this many bytes on, {@link AppendQueue.room} waits. */
const mostWaitingBytes = 256 * 1024;

/** What an {@link AppendQueue} needs besides its log. */
export interface AppendQueueOptions<Rec extends LogRecord> {
  readonly blobs: BlobStore;
  readonly agentId: string;
  readonly compressThresholdBytes: number;
  /** The records of an append as they are stored. Default: as they are. */
  readonly stored?: (records: readonly Rec[]) => readonly LogRecord[];
  readonly onAppended: AppendListener<Rec>;
}

interface Batch<Rec extends LogRecord> {
  readonly records: Rec[];
  readonly uploads: BlobUpload[];
  summary?: AgentSummary;
  snapshot: boolean;
  bytes: number;
  afterwards?: () => Promise<void>;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The only writer of a log. What is queued in one turn of the event loop goes in one append, and so does what is queued
 * while another append is in flight. After a failure nothing more is appended: the outcome of the failed one is unknown.
 */
export class AppendQueue<Rec extends LogRecord> {
  readonly #log: OwnedLog;
  readonly #options: AppendQueueOptions<Rec>;
  #position: number;
  #open: Batch<Rec> | undefined;
  #inFlight: Batch<Rec> | undefined;
  #draining = false;
  readonly #followers = new Set<Appended<Rec>[]>();
  #failure: { readonly error: unknown } | undefined;

  constructor(log: OwnedLog, options: AppendQueueOptions<Rec>) {
    this.#log = log;
    this.#options = options;
    this.#position = log.position;
  }

  /** The position of the last acknowledged append. */
  get position(): number {
    return this.#position;
  }

  /** The error of the failed append, after which nothing can be appended; `undefined` if none failed. */
  get failure(): unknown {
    return this.#failure?.error;
  }

  /** Queues records to be appended together, after all that were queued before. Throws what an earlier append failed with. */
  push(records: readonly Rec[], uploads: readonly BlobUpload[], options: AppendOptions = {}): void {
    if (this.#failure) throw this.#failure.error;
    this.#open ??= newBatch();
    this.#open.records.push(...records);
    this.#open.uploads.push(...uploads);
    this.#open.bytes += uploads.reduce((sum, { content }) => sum + content.length, options.bytes ?? 0);
    if (options.summary) this.#open.summary = options.summary;
    if (options.afterwards) this.#open.afterwards = options.afterwards;
    this.#open.snapshot ||= options.snapshot ?? false;
    if (!this.#draining) void this.#drain(options.last === true);
  }

  /** Resolves when everything pushed so far is durable; rejects when it may not be. */
  async durable(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    await (this.#open ?? this.#inFlight)?.done;
  }

  /** Resolves when there is room for more: at once, or when what waits is durable. Rejects as {@link durable}. */
  async room(): Promise<void> {
    if ((this.#open?.bytes ?? 0) >= mostWaitingBytes) await this.durable();
  }

  /** Keeps what is appended from now on, until that ends. */
  follow(): Following<Rec> {
    const appended: Appended<Rec>[] = [];
    this.#followers.add(appended);
    const end = (): readonly Appended<Rec>[] => {
      this.#followers.delete(appended);
      const waiting = [this.#inFlight, this.#open].flatMap((batch) => (batch ? [batch.records] : []));
      return [
        ...appended,
        ...waiting.map((records, at) => ({ position: this.#position + 1 + at, records: [...records] })),
      ];
    };
    return { position: this.#position, end };
  }

  async #drain(atOnce: boolean): Promise<void> {
    this.#draining = true;
    if (!atOnce) await nextTurn();
    while (this.#open) {
      const batch = this.#open;
      this.#open = undefined;
      this.#inFlight = batch;
      await this.#append(batch);
    }
    this.#draining = false;
  }

  async #append(batch: Batch<Rec>): Promise<void> {
    try {
      const { blobs, agentId, compressThresholdBytes, onAppended, stored = asTheyAre } = this.#options;
      const { generation } = this.#log;
      await putBlobs(blobs, agentId, generation, batch.uploads, compressThresholdBytes);
      const { records, snapshot, summary } = batch;
      const id = `${generation}-${this.#position + 1}`;
      this.#position = await this.#log.append(
        { id, records: stored(records), ...(snapshot && { snapshot }), ...(summary && { summary }) },
        this.#position,
      );
      this.#inFlight = undefined;
      for (const appended of this.#followers) appended.push({ position: this.#position, records });
      onAppended(records);
      batch.resolve();
      await batch.afterwards?.();
    } catch (error) {
      this.#failure = { error };
      this.#inFlight = undefined;
      batch.reject(error);
      this.#open?.reject(error);
      this.#open = undefined;
    }
  }
}

function asTheyAre(records: readonly LogRecord[]): readonly LogRecord[] {
  return records;
}

function newBatch<Rec extends LogRecord>(): Batch<Rec> {
  let resolve = (): void => {};
  let reject = (_error: unknown): void => {};
  const done = new Promise<void>((onDone, onFailure) => {
    resolve = onDone;
    reject = onFailure;
  });
  // A failure that no caller awaits is not unhandled: the next push throws it.
  done.catch(() => {});
  return { records: [], uploads: [], snapshot: false, bytes: 0, done, resolve, reject };
}
