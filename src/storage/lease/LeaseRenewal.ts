import type { Clock } from "../../internal/Clock.ts";

/** Renews a lease every third of its duration, one renewal at a time, until it is stopped. */
export class LeaseRenewal {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renew: (beat: number, stopped: AbortSignal) => Promise<void>;
  #beat = 0;
  #renewedAt = -Infinity;
  #cancel: (() => void) | undefined;
  #current: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  /**
   * @param renew - receives the number of the renewal, counted from 0, and a signal that stops its retries. After a
   * rejection, the next regular renewal tries again.
   */
  constructor(clock: Clock, leaseMs: number, renew: (beat: number, stopped: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#renew = renew;
  }

  async start(): Promise<void> {
    this.#current = this.#renewOnce();
    await this.#current;
  }

  /** Starts with a lease that began at a monotonic time. The first renewal follows after a third of the lease. */
  continue(since: number): void {
    this.#beat++;
    this.#renewedAt = since;
    this.#renewLater(this.#clock.monotonic() - since);
  }

  /** Renews immediately, in addition to the regular renewals. */
  async now(): Promise<void> {
    await this.#current;
    if (!this.#stopping.signal.aborted) await this.#renewNext().catch(() => {});
  }

  /** Renews if the last renewal is older than half the lease, such as after sleep. Rejects if that fails. */
  async refresh(): Promise<void> {
    if (!this.#isOld()) return;
    await this.#current;
    if (this.#isOld() && !this.#stopping.signal.aborted) await this.#renewNext();
  }

  async stop(): Promise<void> {
    // A default reason is an error, whose stack costs more than the rest of a stop.
    this.#stopping.abort("stopped");
    this.#cancel?.();
    await this.#current;
  }

  async #renewOnce(): Promise<void> {
    await this.#renewNext().catch(() => {});
    if (!this.#stopping.signal.aborted) this.#renewLater();
  }

  #renewLater(elapsedMs = 0): void {
    this.#cancel = this.#clock.after(
      Math.max(0, this.#leaseMs / 3 - elapsedMs),
      () => {
        this.#current = this.#renewOnce();
      },
      true,
    );
  }

  async #renewNext(): Promise<void> {
    const began = this.#clock.monotonic();
    await this.#renew(this.#beat++, this.#stopping.signal);
    this.#renewedAt = began;
  }

  #isOld(): boolean {
    return this.#clock.monotonic() - this.#renewedAt > this.#leaseMs / 2;
  }
}
