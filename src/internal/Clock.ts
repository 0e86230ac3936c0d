/** The source of time. Injected, so that tests control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. Shown to people, never used to decide an order or a lease. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /**
   * Calls back once after `ms` milliseconds. Returns its cancellation.
   *
   * @param background true for a timer that does not keep the process alive.
   */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

/** The platform fires a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback, background = false) {
    let timer: unknown;
    const arm = (left: number): void => {
      timer =
        left > longestTimerMs
          ? setTimeout(() => arm(left - longestTimerMs), longestTimerMs)
          : setTimeout(callback, left);
      if (background && typeof timer === "object" && timer !== null && "unref" in timer)
        (timer as { unref(): void }).unref();
    };
    arm(ms);
    return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
  },
};
