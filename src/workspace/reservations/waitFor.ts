import type { Clock } from "../../internal/Clock.ts";

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
export function waitFor(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    const abort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}
