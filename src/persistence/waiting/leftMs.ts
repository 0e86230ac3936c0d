import type { Clock } from "../../internal/Clock.ts";

/**
 * Returns the milliseconds until `end`, at least 0. The result is at most the time from `at` to `end`, even if the
 * clock was set back.
 */
export function leftMs(clock: Clock, { at, end }: { readonly at: number; readonly end: number }): number {
  return Math.max(0, Math.min(end - clock.now(), end - at));
}
