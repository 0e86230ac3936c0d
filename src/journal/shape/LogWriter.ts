import type { BlobUpload } from "../../checkpoint/format/BlobWriter.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { forEachAtOnce } from "../../internal/forEachAtOnce.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { type AppendOptions, AppendQueue, type AppendQueueOptions, type Following } from "./AppendQueue.ts";

type Options<Rec extends LogRecord> = Omit<AppendQueueOptions<Rec>, "blobs"> & {
  readonly log: RecordLog;
  readonly owned: OwnedLog;
};

/** The one writer of a log that this process owns, whatever shape the log has. */
export class LogWriter<Rec extends LogRecord> {
  readonly #agentId: string;
  readonly #log: RecordLog;
  readonly #owned: OwnedLog;
  readonly #queue: AppendQueue<Rec>;

  constructor({ log, owned, ...options }: Options<Rec>) {
    this.#agentId = options.agentId;
    this.#log = log;
    this.#owned = owned;
    this.#queue = new AppendQueue(owned, { ...options, blobs: log.blobs });
  }

  /** Of the last acknowledged append. */
  get position(): number {
    return this.#queue.position;
  }

  get generation(): number {
    return this.#owned.generation;
  }

  /** Aborted when this writer has lost ownership of the log. */
  get lost(): AbortSignal {
    return this.#owned.lost;
  }

  /** Aborts {@link lost} if somebody asked for the log, as far as the storage can tell at once. */
  async checkStop(): Promise<void> {
    await this.#owned.checkStop?.();
  }

  /** True after a failed append: nothing more can be written. */
  get failed(): boolean {
    return this.#queue.failure !== undefined;
  }

  /** As {@link AppendQueue.push}. */
  push(records: readonly Rec[], uploads: readonly BlobUpload[], options?: AppendOptions): void {
    this.#queue.push(records, uploads, options);
  }

  /** As {@link AppendQueue.durable}. */
  durable(): Promise<void> {
    return this.#queue.durable();
  }

  /** As {@link AppendQueue.room}. */
  room(): Promise<void> {
    return this.#queue.room();
  }

  /** As {@link AppendQueue.follow}. */
  follow(): Following<Rec> {
    return this.#queue.follow();
  }

  /**
   * Removes what a durable pruning omitted, blobs first: if a crash or a full disk interrupts this, the appends that remain
   * show that it must be repeated.
   */
  async removePruned(blobs: readonly string[]): Promise<void> {
    await forEachAtOnce(blobs, blobsAtOnce, (reference) => this.#log.blobs.delete(this.#agentId, reference));
    await this.#owned.prune();
  }

  /** Deletes the log and all its data, once everything that was queued is durable. */
  async drop(): Promise<void> {
    await this.durable();
    await this.#owned.drop();
  }

  /** Gives the log back. What is queued is stored first, unless an append has failed. */
  async release(): Promise<void> {
    try {
      if (!this.failed) await this.durable();
    } finally {
      await this.#owned.release();
    }
  }
}
