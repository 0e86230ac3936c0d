import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { describeError } from "../../journal/describeError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { failedCallsIn } from "../calls/failedCallsIn.ts";

/**
 * Records a rejected run as failed. The run stays unfinished. Does not record a run that was refused before its start,
 * was aborted by its caller (it counts as interrupted), or whose storage failed.
 *
 * @returns whether the failure is recorded.
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<boolean> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return false;
  try {
    const { usage } = journal;
    // Calls of an earlier failure that are still unfinished must be tried again.
    const failedCalls = [...new Set([...(journal.statusState.failedCalls ?? []), ...failedCallsIn(error)])];
    const failed = { status: "failed", at: journal.clock.now(), error: describeError(error) } as const;
    const facts = { ...(usage && { usage }), ...(failedCalls.length > 0 && { failedCalls }) };
    await journal.store(statusRecords(journal.statusState, { ...failed, ...facts }));
    return true;
  } catch {
    // The run rejects with its original error. Without this record, it counts as interrupted.
    return false;
  }
}
