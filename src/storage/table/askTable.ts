import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { LogTable } from "./LogTable.ts";
import { quoted } from "../../errors/quoted.ts";

/**
 * Calls a table and resolves in a later turn of the event loop. With a synchronous driver, timers could otherwise not
 * run between the appends of a run, and leases would expire.
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

/** Whether a failed call was possibly executed and may be retried. */
export function isUncertain(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "unavailable";
}
