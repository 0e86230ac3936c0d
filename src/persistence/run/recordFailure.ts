import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { describeError } from "../../journal/describeError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { failedCallsIn } from "../calls/failedCallsIn.ts";

/**
 * A run that rejects is recorded as failed, and stays unfinished. Not recorded: a run that was refused before it began,
 * that the caller aborted (it counts as interrupted), or whose storage failed (nothing more can be written).
 *
 * @returns whether it is recorded.
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<boolean> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return false;
  try {
    const { usage } = journal;
    // Those of an earlier failure that have not ended since are still to be tried again.
    const failedCalls = [...new Set([...(journal.statusState.failedCalls ?? []), ...failedCallsIn(error)])];
    const failed = { status: "failed", at: journal.clock.now(), error: describeError(error) } as const;
    const facts = { ...(usage && { usage }), ...(failedCalls.length > 0 && { failedCalls }) };
    await journal.store(statusRecords(journal.statusState, { ...failed, ...facts }));
    return true;
  } catch {
    // The run rejects with its own error; without a record of the failure it counts as interrupted.
    return false;
  }
}
