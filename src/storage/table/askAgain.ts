import type { Clock } from "../../internal/Clock.ts";
import { pause } from "../../internal/pause.ts";
import { isUncertain } from "./askTable.ts";

/** How long a table is asked for what it has not answered. */
export interface AskingAgain {
  readonly clock: Clock;
  readonly retryMs: number;
}

const [shortestPauseMs, longestPauseMs] = [50, 5_000];

/**
 * Asks until the table has answered, for `retryMs` at most. What fails may have been carried out: only for calls that may be
 * carried out twice.
 */
export async function askAgain<Result>({ clock, retryMs }: AskingAgain, ask: () => Promise<Result>): Promise<Result> {
  const giveUpAt = clock.monotonic() + retryMs;
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await ask();
    } catch (error) {
      if (!isUncertain(error) || clock.monotonic() >= giveUpAt) throw error;
    }
    await pause(clock, pauseMs);
  }
}
