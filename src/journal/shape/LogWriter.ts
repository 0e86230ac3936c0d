import type { BlobUpload } from "../../checkpoint/format/BlobWriter.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { type AppendOptions, AppendQueue, type AppendQueueOptions, type Following } from "./AppendQueue.ts";

type Options<Rec extends LogRecord> = Omit<AppendQueueOptions<Rec>, "blobs"> & {
  readonly log: RecordLog;
  readonly owned: OwnedLog;
};

/** The only writer of a log of any shape that this process owns. */
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

  get position(): number {
    return this.#queue.position;
  }

  get generation(): number {
    return this.#owned.generation;
  }

  get lost(): AbortSignal {
    return this.#owned.lost;
  }

  /** Aborts {@link lost} if another process requested the log, as far as the storage knows immediately. */
  async checkStop(): Promise<void> {
    await this.#owned.checkStop?.();
  }

  /** True after a failed append. No more records can be written. */
  get failed(): boolean {
    return this.#queue.failure !== undefined;
  }

  push(records: readonly Rec[], uploads: readonly BlobUpload[], options?: AppendOptions): void {
    this.#queue.push(records, uploads, options);
  }

  durable(): Promise<void> {
    return this.#queue.durable();
  }

  room(): Promise<void> {
    return this.#queue.room();
  }

  follow(): Following<Rec> {
    return this.#queue.follow();
  }

  /**
   * Removes the data of a durable pruning, blobs first. After a crash or on a full disk, the remaining appends show
   * that the removal must be repeated.
   */
  async removePruned(blobs: readonly string[]): Promise<void> {
    await forEachAtOnce(blobs, blobsAtOnce, (reference) => this.#log.blobs.delete(this.#agentId, reference));
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
}
