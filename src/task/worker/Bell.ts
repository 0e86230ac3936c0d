import type { Clock } from "../../internal/Clock.ts";
import type { LogWatch } from "../../storage/RecordLog.ts";

/** Wakes a waiting caller. If no caller waits, the ring wakes the next caller that waits. */
export class Bell {
  #rang = false;
  #hasNews = false;
  #wake = (): void => {};

  readonly ring = (): void => {
    this.#hasNews = true;
    this.ringWithoutNews();
  };

  /** Wakes the waiting caller without news, because the caller already knows all tasks that may start. */
  ringWithoutNews(): void {
    this.#rang = true;
    this.#wake();
  }

  get rang(): boolean {
    return this.#rang;
  }

  /** Returns whether a ring since the last reset may be about an unknown task. */
  reset(): boolean {
    const hadNews = this.#hasNews;
    this.#rang = this.#hasNews = false;
    return hadNews;
  }

  /** Resolves at the next ring, after `ms`, or immediately if the bell rang since the last reset. */
  async heard(clock: Clock, ms: number): Promise<void> {
    const cancel = ms === Infinity ? () => {} : clock.after(ms, this.ring);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#rang) resolve();
    });
    cancel();
  }
}

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
