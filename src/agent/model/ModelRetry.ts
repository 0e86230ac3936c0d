import isNetworkError from "is-network-error";
import { z } from "zod";
import { pause } from "../../internal/abortable.ts";
import type { Clock } from "../../internal/Clock.ts";
import { integerFrom, numberFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

/**
 * How failed model requests are retried. Only errors with `retryable: true` and network errors of `fetch` are retried.
 * `aiSdkExecutor` marks rate limits, overloaded providers, dropped connections and timeouts as retryable.
 */
export interface ModelRetry {
  /** The number of retries after the first attempt. Defaults to 2. 0 disables retries. */
  readonly retries?: number | undefined;
  /**
   * The delay before the first retry in milliseconds. The delay doubles with each retry. Each delay is randomly
   * shortened by up to half, so that processes do not retry at the same time. A `retryAfterMs` of the error replaces
   * the delay. Defaults to 1,000.
   */
  readonly delayMs?: number | undefined;
  /** The maximum delay in milliseconds. A request fails if its provider asks for a longer delay. Defaults to 60,000. */
  readonly maxDelayMs?: number | undefined;
}

export type FullModelRetry = { readonly [Name in keyof ModelRetry]-?: number };

export const modelRetrySchema: z.ZodType = z.union(
  [
    z.literal(false),
    strictOptions(() => ({
      retries: integerFrom(0).optional(),
      delayMs: numberFrom(0).optional(),
      maxDelayMs: numberFrom(0).optional(),
    })),
  ],
  { error: "expected false, or { retries, delayMs, maxDelayMs } with numbers from 0" },
);

export function fullModelRetry(retry: ModelRetry | false = {}): FullModelRetry {
  const { retries = 2, delayMs = 1_000, maxDelayMs = 60_000 } = retry || { retries: 0 };
  return { retries, delayMs, maxDelayMs };
}

export interface FailedTry {
  readonly error: unknown;
  /** The number of the failed attempt, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
}

interface Waiting {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each delay. If the function rejects, no further attempt is made. */
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
