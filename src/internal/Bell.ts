import type { Clock } from "./Clock.ts";

/** Wakes a waiting caller. If no caller waits, the ring wakes the next caller that waits. */
export class Bell {
  #rang = false;
  #hasNews = false;
  #wake = (): void => {};

  readonly ring = (): void => {
    this.#hasNews = true;
    this.ringWithoutNews();
  };

  /** Wakes the waiting caller like {@link ring}, but without news for the caller. */
  ringWithoutNews(): void {
    this.#rang = true;
    this.#wake();
  }

  get rang(): boolean {
    return this.#rang;
  }

  /** Returns whether a ring since the last reset had news. */
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
