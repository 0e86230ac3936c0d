import type { StatusState } from "./StatusState.ts";

/**
 * Returns the time at which a worker retries a failed task, in milliseconds since 1970. `undefined` if the task is not
 * retried.
 */
export function retryAt({ task, current, retries }: StatusState): number | undefined {
  const { retries: most = 0, retryDelayMs = 0 } = task?.controls ?? {};
  if (current?.status !== "failed" || current.record?.recoverable === false || retries >= most) return undefined;
  return current.at + retryDelayMs * 2 ** Math.min(retries, 6);
}
