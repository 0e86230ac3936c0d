import type { BlobUpload } from "../../checkpoint/format/BlobWriter.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import { putBlobs } from "../../storage/blobs.ts";
import type { AgentSummary, OwnedLog } from "../../storage/RecordLog.ts";

export interface AppendOptions {
  readonly summary?: AgentSummary;
  readonly snapshot?: boolean;
  /** The approximate size of the records in bytes. Defaults to 0. */
  readonly bytes?: number;
  /** Runs once the append is durable, before the next append starts. Must not reject. */
  readonly afterwards?: () => Promise<void>;
  /** True if the caller queues no more records in this turn of the event loop. The append then starts immediately. */
  readonly last?: boolean;
}

/** Called with the appended records once they are durable, before `durable()` resolves. Must not throw. */
export type AppendListener<Rec extends LogRecord> = (records: readonly Rec[]) => void;

export interface Appended<Rec extends LogRecord> {
  readonly position: number;
  readonly records: readonly Rec[];
}

export interface Following<Rec extends LogRecord> {
  /** The position of the last append acknowledged before that point. */
  readonly position: number;
  /** Returns all appends until now. Appends that are in flight or queued have their future positions. */
  readonly end: () => readonly Appended<Rec>[];
}

/** Queued records are in memory. From about this number of bytes, {@link AppendQueue.room} waits. */
const mostWaitingBytes = 256 * 1024;

export interface AppendQueueOptions<Rec extends LogRecord> {
  readonly blobs: BlobStore;
  readonly agentId: string;
  readonly compressThresholdBytes: number;
  /** Converts the records of an append to their stored form. Defaults to no conversion. */
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
 * The only writer of a log. Records that are queued in one turn of the event loop form one append, as do records queued
 * during an append. After a failed append no more records are appended, because its outcome is unknown.
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

  get position(): number {
    return this.#position;
  }

  get failure(): unknown {
    return this.#failure?.error;
  }

  /** Queues records as one append after all earlier ones. Throws the error of an earlier failed append. */
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

  async durable(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    await (this.#open ?? this.#inFlight)?.done;
  }

  /**
   * Resolves immediately if the queue has room, otherwise when the queued records are durable. Rejects like {@link
   * durable}.
   */
  async room(): Promise<void> {
    if ((this.#open?.bytes ?? 0) >= mostWaitingBytes) await this.durable();
  }

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
  // The next push throws the error, so this rejection needs no handler.
  done.catch(() => {});
  return { records: [], uploads: [], snapshot: false, bytes: 0, done, resolve, reject };
}
