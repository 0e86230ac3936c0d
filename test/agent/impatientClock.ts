import type { Clock } from "../../src/internal/Clock.ts";

/**
 * A clock on which waits are over at once; it keeps how long each was.
 *
 * @param passes false for a wait that never ends.
 */
export function impatientClock(
  passes: (ms: number) => boolean = () => true,
): Clock & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => 0,
    monotonic: () => 0,
    after(ms, callback) {
      let cancelled = false;
      waits.push(ms);
      queueMicrotask(() => {
        if (!cancelled && passes(ms)) callback();
      });
      return () => void (cancelled = true);
    },
  };
}
