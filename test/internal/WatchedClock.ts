import { SimulatedClock } from "agent-persistence/testing";

/** A simulated clock that shows its pending timers, so that a test waits until the code under test waits. */
export class WatchedClock extends SimulatedClock {
  readonly #pending = new Set<{ readonly ms: number }>();
  readonly #watchers = new Set<() => void>();

  override after(ms: number, callback: () => void): () => void {
    const timer = { ms };
    this.#pending.add(timer);
    const cancel = super.after(ms, () => {
      this.#pending.delete(timer);
      callback();
    });
    for (const look of this.#watchers) look();
    return () => {
      this.#pending.delete(timer);
      cancel();
    };
  }

  /** Resolves once a timer of at most `longestMs` is pending, to the milliseconds that it was set for. */
  timer(longestMs = Infinity): Promise<number> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = [...this.#pending].find(({ ms }) => ms <= longestMs);
        if (!found) return;
        this.#watchers.delete(look);
        resolve(found.ms);
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Fires each timer of at most `longestMs` as soon as it is set, until `promise` has settled. */
  async runUntil<Result>(promise: Promise<Result>, longestMs = 1_000): Promise<Result> {
    const end = promise.then(
      () => undefined,
      () => undefined,
    );
    for (;;) {
      const ms = await Promise.race([end, this.timer(longestMs)]);
      if (ms === undefined) return promise;
      this.advance(ms);
    }
  }
}
