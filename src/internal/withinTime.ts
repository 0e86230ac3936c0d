import { abortable, onAbort } from "./abortable.ts";
import type { Clock } from "./Clock.ts";

/** How long work may take. */
export interface TimeLimit {
  /** In milliseconds of the clock; `Infinity`: without limit. */
  readonly ms: number;
  readonly clock: Clock;
  /** The reason of the abort when the time is over. */
  readonly late: () => unknown;
}

/**
 * Runs work with a signal that aborts with `signal`, or when the time is over. Rejects then with the reason, whether or not
 * the work ends.
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
