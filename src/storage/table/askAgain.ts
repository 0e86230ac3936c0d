import type { Clock } from "../../internal/Clock.ts";
import { pause } from "../../internal/pause.ts";
import { askTable, isUncertain } from "./askTable.ts";
import type { LogTable } from "./LogTable.ts";

export interface AskingAgain {
  readonly clock: Clock;
  readonly retryMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RetriedTable extends AskingAgain {
  readonly table: Pick<LogTable, "name" | "reasonOf" | "adviceOn">;
}

const [shortestPauseMs, longestPauseMs] = [50, 5_000];

/**
 * Retries a call for `retryMs` while the table cannot be reached. A failed call was possibly executed, so only pass
 * calls that may run twice.
 */
export async function askAgain<Result>(
  { clock, retryMs, signal }: AskingAgain,
  ask: () => Promise<Result>,
): Promise<Result> {
  const giveUpAt = clock.monotonic() + retryMs;
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await ask();
    } catch (error) {
      if (!isUncertain(error) || clock.monotonic() >= giveUpAt) throw error;
      await pause(clock, pauseMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}

export function askTableAgain<Result>(
  retried: RetriedTable,
  operation: string,
  agentId: string | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  return askAgain(retried, () => askTable(retried.table, operation, agentId, call));
}
