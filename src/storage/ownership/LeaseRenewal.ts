import type { Clock } from "../../internal/Clock.ts";

/** Renews a lease each third of it, one renewal at a time, until it is stopped. */
export class LeaseRenewal {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renew: (beat: number, stopped: AbortSignal) => Promise<void>;
  #beat = 0;
  /** When the last renewal that succeeded began. */
  #renewedAt = -Infinity;
  #cancel: (() => void) | undefined;
  #current: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  /**
   * @param renew gets the number of the renewal, from 0, and a signal that ends its retries. After a rejection, the next
   * regular renewal tries again.
   */
  constructor(clock: Clock, leaseMs: number, renew: (beat: number, stopped: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#renew = renew;
  }

  /** Resolves after the first renewal. */
  async start(): Promise<void> {
    this.#current = this.#renewOnce();
    await this.#current;
  }

  /** The same for a lease that was taken just now: the first renewal comes after a third of it. */
  continue(): void {
    this.#beat++;
    this.#renewedAt = this.#clock.monotonic();
    this.#renewLater();
  }

  /** Renews at once, beside the regular ones. */
  async now(): Promise<void> {
    await this.#current;
    if (!this.#stopping.signal.aborted) await this.#renewNext().catch(() => {});
  }

  /** Renews if the last time is longer ago than half the lease, as after a sleep. Rejects when that fails. */
  async refresh(): Promise<void> {
    if (!this.#isOld()) return;
    await this.#current;
    if (this.#isOld() && !this.#stopping.signal.aborted) await this.#renewNext();
  }

  /** Resolves when no renewal is under way any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    await this.#current;
  }

  async #renewOnce(): Promise<void> {
    await this.#renewNext().catch(() => {});
    if (!this.#stopping.signal.aborted) this.#renewLater();
  }

  #renewLater(): void {
    this.#cancel = this.#clock.after(
      this.#leaseMs / 3,
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
