import pRetry from "p-retry";
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
  if (retries === 0) return request();
  try {
    return await pRetry(() => request().catch(asError), {
      retries,
      // The injected clock implements the delay, so p-retry must not wait.
      minTimeout: 0,
      async shouldRetry({ error: thrown, attemptNumber: attempt }) {
        signal.throwIfAborted();
        const error = thrownBy(thrown);
        const delayMs = delayBefore(error, attempt, delays);
        if (delayMs === undefined) return false;
        await onRetry({ error, attempt, delayMs });
        await pause(clock, delayMs, signal);
        signal.throwIfAborted();
        return true;
      },
    });
  } catch (error) {
    throw thrownBy(error);
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
  // p-retry rethrows other TypeErrors itself, so a TypeError here is a network failure.
  if (retryable !== true && !(error instanceof TypeError)) return undefined;
  if (typeof retryAfterMs === "number" && retryAfterMs >= 0)
    return retryAfterMs <= maxDelayMs ? retryAfterMs : undefined;
  const longest = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return longest * (1 - Math.random() / 2);
}

/** Wraps a thrown value that is not an error, because p-retry would replace it. */
class Thrown extends Error {
  constructor(readonly value: unknown) {
    super("something that is no error was thrown");
  }
}

function asError(error: unknown): never {
  throw error instanceof Error ? error : new Thrown(error);
}

function thrownBy(error: unknown): unknown {
  return error instanceof Thrown ? error.value : error;
}
