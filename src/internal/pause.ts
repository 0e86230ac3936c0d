import type { Clock } from "./Clock.ts";

/** Waits for a time in milliseconds, or until the signal aborts. Returns at once for 0. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (ms === 0 || signal?.aborted) return;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const cancel = clock.after(ms, end);
  signal?.addEventListener("abort", end, { once: true });
  await ended;
  signal?.removeEventListener("abort", end);
  cancel();
}
