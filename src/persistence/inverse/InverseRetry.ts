import type { z } from "zod";
import { type Clock, pause } from "../../internal/Clock.ts";
import { numberFrom, integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** How often an inverse is tried before the rollback stops. */
export interface InverseRetry {
  /** At least 1. Defaults to 3. */
  readonly attempts?: number | undefined;
  /** The delay between two attempts, in milliseconds of the configured clock. Defaults to 100. */
  readonly delayMs?: number | undefined;
}

export const inverseRetrySchema: z.ZodType<InverseRetry> = strictOptions({
  attempts: integerFrom(1).optional(),
  delayMs: numberFrom(0).optional(),
});

export type InverseAttempt =
  | { readonly failed: false; readonly output: unknown }
  | { readonly failed: true; readonly error: unknown };

/**
 * Tries an action up to `attempts` times. @throws the reason of the signal, because an aborted attempt has an unknown
 * effect.
 */
export async function attempt(
  action: () => unknown,
  { attempts = 3, delayMs = 100 }: InverseRetry,
  clock: Clock,
  signal: AbortSignal,
): Promise<InverseAttempt> {
  for (let made = 1; ; made++) {
    signal.throwIfAborted();
    try {
      return { failed: false, output: await action() };
    } catch (error) {
      signal.throwIfAborted();
      if (made >= attempts) return { failed: true, error };
    }
    await pause(clock, delayMs, signal);
  }
}
