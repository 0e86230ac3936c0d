import type { Clock } from "../../../../src/internal/Clock.ts";

/** Time that moves by hand. */
export class TestClock implements Clock {
  #now = 0;
  readonly #waiting = new Map<number, { readonly at: number; readonly callback: () => void }>();
  #next = 0;

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const key = this.#next++;
    this.#waiting.set(key, { at: this.#now + ms, callback });
    return () => this.#waiting.delete(key);
  }

  /** Moves on and fires what is due, once each. */
  advance(ms: number): void {
    this.#now += ms;
    for (const [key, { at, callback }] of Array.from(this.#waiting)) {
      if (at > this.#now) continue;
      this.#waiting.delete(key);
      callback();
    }
  }
}

/** Fires at once: for waits that a test is not about. */
export class HastyClock extends TestClock {
  override after(ms: number, callback: () => void): () => void {
    if (ms > 1000) return super.after(ms, callback);
    queueMicrotask(callback);
    return () => {};
  }
}

/** The clock of a process that slept: time went by, and no timer fired. */
export class SleptClock extends TestClock {
  override after(): () => void {
    return () => {};
  }
}
