import { AgentPersistenceError, quoted } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { LogTable } from "./LogTable.ts";
import { pause } from "../../internal/abortable.ts";
import type { Clock } from "../../internal/Clock.ts";

const [shortestPauseMs, longestPauseMs] = [50, 5_000];

/**
 * Calls a table and resolves in a later turn of the event loop, so that a synchronous driver blocks no timers.
 *
 * @throws StorageError in place of an error of the driver.
 */
export async function askTable<Result>(
  table: Pick<LogTable, "name" | "reasonOf" | "adviceOn">,
  operation: string,
  agentId: string | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof AgentPersistenceError) throw error;
    const of = agentId === undefined ? table.name : `agent ${quoted(agentId)} in ${table.name}`;
    const reason = table.reasonOf?.(error) ?? "unavailable";
    const advice = table.adviceOn?.(error) ?? (reason === "unavailable" ? reach(table.name) : undefined);
    throw new StorageError(reason, operation, of, { cause: error, advice });
  } finally {
    await nextTurn();
  }
}

function reach(name: string): string {
  return `Check that ${name} can be reached, and open the agent again.`;
}

/** Whether the call was possibly executed, so that it may be retried. */
function isUncertain(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "unavailable";
}

interface AskingAgain {
  readonly clock: Clock;
  readonly retryMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RetriedTable extends AskingAgain {
  readonly table: Pick<LogTable, "name" | "reasonOf" | "adviceOn">;
}

/** Repeats a failed call until `retryMs` has passed. The call may be executed twice. */
export async function askAgain<Result>(
  { clock, retryMs, signal }: AskingAgain,
  ask: () => Promise<Result>,
): Promise<Result> {
  const giveUpAt = clock.monotonic() + retryMs;
  let stop: AbortSignal | undefined;
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await ask();
    } catch (error) {
      if (!isUncertain(error) || clock.monotonic() >= giveUpAt) throw error;
      // Each call has a separate signal, because Node warns about many listeners on one signal.
      stop ??= signal && AbortSignal.any([signal]);
      await pause(clock, pauseMs, stop);
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
