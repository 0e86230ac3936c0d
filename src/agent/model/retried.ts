import isNetworkError from "is-network-error";
import { type Clock, pause } from "../../internal/Clock.ts";
import type { FullModelRetry } from "./ModelRetry.ts";

export interface FailedTry {
  readonly error: unknown;
  /** The number of the failed attempt, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
}

interface Waiting {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each delay. If it rejects, no further attempt is made. */
  readonly onRetry: (failed: FailedTry) => Promise<void>;
}

/** Makes a request with up to `retries` retries. @throws the error of the last attempt, or the reason of the signal. */
export async function retried<Result>(
  request: () => Promise<Result>,
  { retries, ...delays }: FullModelRetry,
  { clock, signal, onRetry }: Waiting,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (attempt > retries) throw error;
      signal.throwIfAborted();
      const delayMs = delayBefore(error, attempt, delays);
      if (delayMs === undefined) throw error;
      await onRetry({ error, attempt, delayMs });
      await pause(clock, delayMs, signal);
      signal.throwIfAborted();
    }
  }
}

function delayBefore(
  error: unknown,
  attempt: number,
  { delayMs, maxDelayMs }: Omit<FullModelRetry, "retries">,
): number | undefined {
  const { retryable, retryAfterMs } = Object(error) as {
    readonly retryable?: unknown;
    readonly retryAfterMs?: unknown;
  };
  if (error instanceof TypeError ? !isNetworkError(error) : retryable !== true) return undefined;
  if (typeof retryAfterMs === "number" && retryAfterMs >= 0)
    return retryAfterMs <= maxDelayMs ? retryAfterMs : undefined;
  const longest = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return longest * (1 - Math.random() / 2);
}
