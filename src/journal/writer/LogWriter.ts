import type { BlobUpload } from "../../checkpoint/format/BlobWriter.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import { putBlobs } from "../../storage/blobs.ts";
import type { AgentSummary, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";

export interface AppendOptions {
  readonly summary?: AgentSummary;
  readonly snapshot?: boolean;
  /** The approximate size of the records in bytes. Defaults to 0. */
  readonly bytes?: number;
  /** Runs when the append is durable, before the next append starts. Must not reject. */
  readonly afterwards?: () => Promise<void>;
  /** True if the caller queues no more records in this turn of the event loop. The append then starts immediately. */
  readonly last?: boolean | undefined;
  /** True if the caller releases the log after this append. */
  readonly releases?: boolean | undefined;
}

/** Called with the appended records when they are durable, before `durable()` resolves. Must not throw. */
export type AppendListener<Rec extends LogRecord> = (records: readonly Rec[]) => void;

export interface Appended<Rec extends LogRecord> {
  readonly position: number;
  readonly records: readonly Rec[];
}

export interface Following<Rec extends LogRecord> {
  /** The position of the last acknowledged append when {@link LogWriter.follow} was called. */
  readonly position: number;
  /** Returns all appends since then. Appends that are not yet stored have their future positions. */
  readonly end: () => readonly Appended<Rec>[];
}

/** If this many bytes are queued in memory, {@link LogWriter.room} waits. */
const mostWaitingBytes = 256 * 1024;

interface LogWriterOptions<Rec extends LogRecord> {
  readonly log: RecordLog;
  readonly owned: OwnedLog;
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
  releases?: boolean;
  bytes: number;
  afterwards?: () => Promise<void>;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The only writer of an owned log of any kind. Records that are queued in one turn of the event loop, or during an
 * append, form one append. After a failed append, nothing more is written, because its outcome is unknown.
 */
export class LogWriter<Rec extends LogRecord> {
  readonly #owned: OwnedLog;
  readonly #options: LogWriterOptions<Rec>;
  #position: number;
  #open: Batch<Rec> | undefined;
  #inFlight: Batch<Rec> | undefined;
  #draining = false;
  readonly #followers = new Set<Appended<Rec>[]>();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: LogWriterOptions<Rec>) {
    this.#owned = options.owned;
    this.#options = options;
    this.#position = this.#owned.position;
  }

  get position(): number {
    return this.#position;
  }

  get generation(): number {
    return this.#owned.generation;
  }

  get lost(): AbortSignal {
    return this.#owned.lost;
  }

  /** Checks whether another process needs the log, and then aborts {@link lost}. Does not wait for appends. */
  async checkStop(): Promise<void> {
    await this.#owned.checkStop?.();
  }

  /** True after a failed append. No more records can be written. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Queues records for one append after all earlier appends. Throws the error of an earlier append that failed. */
  push(records: readonly Rec[], uploads: readonly BlobUpload[], options: AppendOptions = {}): void {
    if (this.#failure) throw this.#failure.error;
    this.#open ??= newBatch();
    this.#open.records.push(...records);
    this.#open.uploads.push(...uploads);
    this.#open.bytes += uploads.reduce((sum, { content }) => sum + content.length, options.bytes ?? 0);
    if (options.summary) this.#open.summary = options.summary;
    if (options.afterwards) this.#open.afterwards = options.afterwards;
    this.#open.snapshot ||= options.snapshot ?? false;
    if (options.releases) this.#open.releases = true;
    if (!this.#draining) void this.#drain(options.last === true);
  }

  async durable(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    await (this.#open ?? this.#inFlight)?.done;
  }

  /** Resolves when the queue has room or is stored. Rejects like {@link durable}. */
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

  /** Removes the data of a durable pruning, blobs first, so that an interrupted removal is visible in the appends. */
  async removePruned(blobs: readonly string[]): Promise<void> {
    const { log, agentId } = this.#options;
    await forEachAtOnce(blobs, blobsAtOnce, (reference) => log.blobs.delete(agentId, reference));
    await this.#owned.prune();
  }

  async drop(): Promise<void> {
    await this.durable();
    await this.#owned.drop();
  }

  /** Stores queued records, unless an append has failed, and releases the log. */
  async release(): Promise<void> {
    try {
      if (!this.failed) await this.durable();
    } finally {
      await this.#owned.release();
    }
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
      const { log, agentId, compressThresholdBytes, onAppended, stored = (records) => records } = this.#options;
      const { generation } = this;
      const { records, uploads, snapshot, summary, releases } = batch;
      if (uploads.length > 0) await putBlobs(log.blobs, agentId, generation, uploads, compressThresholdBytes);
      const id = `${generation}-${this.#position + 1}`;
      this.#position = await this.#owned.append(
        {
          id,
          records: stored(records),
          ...(snapshot && { snapshot }),
          ...(summary && { summary }),
          ...(releases && !this.#open && { releases }),
        },
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

function newBatch<Rec extends LogRecord>(): Batch<Rec> {
  let resolve = (): void => {};
  let reject = (_error: unknown): void => {};
  const done = new Promise<void>((onDone, onFailure) => {
    resolve = onDone;
    reject = onFailure;
  });
  // The next push throws this error, so that the rejection need not be handled.
  done.catch(() => {});
  return { records: [], uploads: [], snapshot: false, bytes: 0, done, resolve, reject };
}
