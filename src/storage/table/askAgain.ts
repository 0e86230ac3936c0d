import type { Clock } from "../../internal/Clock.ts";
import { pause } from "../../internal/pause.ts";
import { askTable, isUncertain } from "./askTable.ts";
import type { LogTable } from "./LogTable.ts";

/** How long a call to a table is retried. */
export interface AskingAgain {
  readonly clock: Clock;
  readonly retryMs: number;
  /** No call is retried after it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** A table and how long its calls are retried. */
export interface RetriedTable extends AskingAgain {
  readonly table: Pick<LogTable, "name" | "reasonOf" | "adviceOn">;
}

const [shortestPauseMs, longestPauseMs] = [50, 5_000];

/**
 * Retries a call for `retryMs` while the table cannot be reached. The failed call may have been carried out, so the call must
 * be one that may run twice.
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

/** Calls a table as {@link askTable} does, and retries as {@link askAgain} does. */
export function askTableAgain<Result>(
  retried: RetriedTable,
  operation: string,
  agentId: string | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  return askAgain(retried, () => askTable(retried.table, operation, agentId, call));
}
