import type { Clock } from "../../internal/Clock.ts";

/**
 * The time of day as far as this process can vouch for it: a clock that is set forward while it runs does not make
 * anything old.
 */
export class CappedClock {
  readonly #clock: Clock;
  readonly #start: { readonly now: number; readonly monotonic: number };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#start = { now: clock.now(), monotonic: clock.monotonic() };
  }

  /** Milliseconds since 1970; never later than the start and what has passed since. */
  now(): number {
    const passed = this.#clock.monotonic() - this.#start.monotonic;
    return Math.min(this.#clock.now(), this.#start.now + passed);
  }
}
