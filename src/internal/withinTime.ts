import { abortable, onAbort } from "./abortable.ts";
import type { Clock } from "./Clock.ts";

export interface TimeLimit {
  /** In milliseconds of the clock. `Infinity` for no limit. */
  readonly ms: number;
  readonly clock: Clock;
  readonly late: () => unknown;
}

/**
 * Runs work with a signal that aborts with `signal` or after the timeout. Then rejects with the reason without waiting
 * for the work.
 */
export async function withinTime<Result>(
  { ms, clock, late }: TimeLimit,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  if (ms === Number.POSITIVE_INFINITY) return abortable(signal, () => work(signal));
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const cancel = clock.after(ms, () => controller.abort(late()));
  try {
    return await abortable(controller.signal, () => work(controller.signal));
  } finally {
    cancel();
    unlisten();
  }
}
