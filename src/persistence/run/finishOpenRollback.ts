import type { RevertibleCall, RunResult } from "../../agent/feature/RunResult.ts";
import { finishRollback } from "../rollback/rollBack.ts";
import type { DurableCall } from "./DurableCall.ts";

/**
 * Finishes an interrupted rollback.
 *
 * @returns the calls that stay unreverted, which is allowed if the caller abandons other runs.
 */
export async function finishOpenRollback({
  setup,
  journal,
  request: { options },
}: DurableCall): Promise<readonly RevertibleCall[]> {
  if (!journal.head?.log.index.rollback) return [];
  const abandons = "unfinished" in options && options.unfinished === "abandon";
  const { left } = await finishRollback(setup, journal, abandons ? "leave" : "stop");
  await journal.readHead();
  return (abandons ? left : []).map(({ error: _error, ...call }) => call);
}

export function withEffects(result: RunResult<unknown>, remaining: readonly RevertibleCall[]): RunResult<unknown> {
  if (result.status !== "completed" || remaining.length === 0) return result;
  return { ...result, effects: { missing: [], remaining } };
}
