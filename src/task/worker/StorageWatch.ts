import type { LogWatch } from "../../storage/RecordLog.ts";

/** Watches a storage from the first successful start until it is closed. */
export class StorageWatch {
  readonly #open: () => Promise<LogWatch | undefined>;
  #watch: LogWatch | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(open: () => Promise<LogWatch | undefined>) {
    this.#open = open;
  }

  /** Resolves to whether this call started the watch. After a rejection, the next call tries again. */
  async start(): Promise<boolean> {
    if (this.#isStarted || this.#isClosed) return false;
    this.#isStarted = true;
    try {
      this.#watch = await this.#open();
    } catch (error) {
      this.#isStarted = false;
      if (this.#isClosed) return false;
      throw error;
    }
    if (this.#isClosed) await this.close();
    return !this.#isClosed;
  }

  /** Ignores errors of the connection, because no caller waits for changes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#watch?.close().catch(() => {});
  }
}
