/** A source of time that tests can replace. */
export interface Clock {
  /** The time of the system in milliseconds since 1970. Not used for the order of records or for leases. */
  now(): number;
  /** Milliseconds since an arbitrary start, independent of changes of the system time. */
  monotonic(): number;
  /** Calls `callback` after `ms`. Returns a function that cancels. @param background Lets the process end earlier. */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

/** The maximum delay of `setTimeout`, which calls back at once for a longer one. */
const longestTimerMs = 2 ** 31 - 1;

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
