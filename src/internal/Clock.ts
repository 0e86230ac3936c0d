/** The source of time. It is injected, so that tests can control the time. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. Used only for display, never for ordering or leases. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary start. */
  monotonic(): number;
  /** Calls back after `ms`. Returns a function that cancels. @param background does not keep the process alive */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

/** The platform fires longer timers immediately. */
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
