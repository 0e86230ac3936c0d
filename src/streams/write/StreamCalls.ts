import type { Clock } from "../../internal/Clock.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warnOnce } from "../../internal/warn.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import type { StreamEntry, StreamPlace, StreamStore } from "../store/StreamStore.ts";

export interface FailedStreamCall {
  readonly operation: "append" | "remove";
  readonly error: unknown;
}

export interface StreamCallOptions {
  readonly clock: Clock;
  /** How long a call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Called for the first failure of an outage. */
  readonly onFailure: (failure: FailedStreamCall) => void;
}

/** Calls a store for one stream, never throwing. Resolves with `false` after a failure or a timeout. */
export class StreamCalls {
  readonly #store: StreamStore;
  readonly #streamId: string;
  readonly #options: StreamCallOptions;
  /** The operations whose last call failed. */
  readonly #failing = new Set<FailedStreamCall["operation"]>();

  constructor(store: StreamStore, streamId: string, options: StreamCallOptions) {
    this.#store = store;
    this.#streamId = streamId;
    this.#options = options;
  }

  append(entry: StreamEntry): Promise<boolean> {
    return this.#attempt("append", () => this.#store.append(this.#streamId, entry));
  }

  /** @param upTo defaults to the whole stream */
  remove(upTo?: StreamPlace): Promise<boolean> {
    return this.#attempt("remove", () => this.#store.remove(this.#streamId, upTo));
  }

  /** Resolves when the work is done, and at the latest after the timeout. */
  async inTime(work: Promise<unknown>): Promise<void> {
    await this.#orTimeout("end", work).catch(() => undefined);
  }

  async #attempt(operation: FailedStreamCall["operation"], call: () => Promise<void>): Promise<boolean> {
    try {
      await this.#orTimeout(operation, call());
      this.#failing.delete(operation);
      return true;
    } catch (error) {
      if (!this.#failing.has(operation)) this.#report({ operation, error });
      this.#failing.add(operation);
      return false;
    }
  }

  async #orTimeout(operation: string, work: Promise<unknown>): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    let cancel = () => {};
    const late = new Promise<never>((_resolve, reject) => {
      const cause = new Error(`The store did not answer within ${timeoutMs} ms.`);
      cancel = clock.after(timeoutMs, () => reject(new StorageError("unavailable", operation, "a stream", { cause })));
    });
    try {
      await Promise.race([work, late]);
    } finally {
      cancel();
    }
  }

  #report(failure: FailedStreamCall): void {
    const { operation, error } = failure;
    const what = `${operation} of a stream store failed. Clients see the stored responses`;
    warnOnce("stream_store_failed", `${what}: ${reasonOf(error)}`);
    this.#options.onFailure(failure);
  }
}
