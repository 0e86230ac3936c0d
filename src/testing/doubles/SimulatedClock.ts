import { z } from "zod";
import type { Clock } from "../../internal/Clock.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";

/**
 * A clock that moves only on request.
 *
 * @example
 * ```ts
 * const clock = new SimulatedClock();
 * clock.advance(15_000);
 * ```
 */
export class SimulatedClock implements Clock {
  #now: number;
  #monotonic = 0;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  /** @param start - the initial time, in milliseconds since 1970. Defaults to 2026-01-01. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    checkSchema(z.number(), start, "start of a simulated clock");
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, ms), callback };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  /** Advances the time and calls all due timers in order. */
  advance(ms: number): void {
    checkSchema(numberFrom(0), ms, "time to advance");
    const end = this.#monotonic + ms;
    for (let next = this.#nextUntil(end); next; next = this.#nextUntil(end)) {
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#moveTo(next.at);
      next.callback();
    }
    this.#moveTo(end);
  }

  /** Moves the wall clock forward or back without elapsed time, like a correction of the system time. */
  jump(ms: number): void {
    checkSchema(z.number(), ms, "jump of a simulated clock");
    this.#now += ms;
  }

  #nextUntil(end: number): { readonly at: number; readonly callback: () => void } | undefined {
    return this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }

  #moveTo(monotonic: number): void {
    this.#now += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}
