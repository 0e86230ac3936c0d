import type { Clock } from "../../internal/Clock.ts";

/** Renews a lease each third of it, one renewal at a time, until it is stopped. */
export class LeaseRenewal {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #renew: (beat: number) => Promise<void>;
  #beat = 0;
  #cancel: (() => void) | undefined;
  #current: Promise<void> = Promise.resolve();
  #stopped = false;

  /** @param renew given the number of the renewal, from 0. A rejection is tried again at the next. */
  constructor(clock: Clock, leaseMs: number, renew: (beat: number) => Promise<void>) {
    this.#clock = clock;
    this.#intervalMs = leaseMs / 3;
    this.#renew = renew;
  }

  /** Resolves after the first renewal. */
  async start(): Promise<void> {
    this.#current = this.#renewOnce();
    await this.#current;
  }

  /** Renews at once, beside the regular ones. */
  async now(): Promise<void> {
    await this.#current;
    if (!this.#stopped) await this.#renew(this.#beat++).catch(() => {});
  }

  /** Resolves when no renewal is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#current;
  }

  async #renewOnce(): Promise<void> {
    await this.#renew(this.#beat++).catch(() => {});
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(
      this.#intervalMs,
      () => {
        this.#current = this.#renewOnce();
      },
      true,
    );
  }
}
