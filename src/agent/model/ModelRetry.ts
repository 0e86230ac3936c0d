import { z } from "zod";
import { integerFrom, numberFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/**
 * How often a model request that failed is made again. Only errors whose `retryable` is `true` are retried, such as those
 * of `aiSdkExecutor` for a rate limit, an overloaded provider, a dropped connection or a timeout; and the errors of `fetch`
 * for a network that fails.
 */
export interface ModelRetry {
  /** After the first try. Default 2; 0: none. */
  readonly retries?: number | undefined;
  /**
   * Before the first retry, in milliseconds; doubles with each further one. The wait is shortened at random by up to half,
   * so that processes do not retry at the same moment. An error's `retryAfterMs` is waited for instead, in full. Default 1,000.
   */
  readonly delayMs?: number | undefined;
  /** The longest wait, in milliseconds. If a provider asks for more, the request fails at once. Default 60,000. */
  readonly maxDelayMs?: number | undefined;
}

/** A policy with its defaults. */
export type FullModelRetry = { readonly [Name in keyof ModelRetry]-?: number };

export const modelRetrySchema: z.ZodType = z.union([
  z.literal(false),
  strictOptions({
    retries: integerFrom(0).optional(),
    delayMs: numberFrom(0).optional(),
    maxDelayMs: numberFrom(0).optional(),
  }),
]);

/** The policy with its defaults. */
export function fullModelRetry(retry: ModelRetry | false = {}): FullModelRetry {
  const { retries = 2, delayMs = 1_000, maxDelayMs = 60_000 } = retry || { retries: 0 };
  return { retries, delayMs, maxDelayMs };
}
