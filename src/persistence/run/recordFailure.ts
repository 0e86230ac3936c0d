import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { describeError } from "../../journal/describeError.ts";
import type { Journal } from "../../journal/Journal.ts";

/**
 * A run that rejects is recorded as failed, and stays unfinished. Nothing is recorded of one that was refused before it
 * began, that the caller aborted (it counts as interrupted), or whose storage failed (nothing more can be).
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<void> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return;
  try {
    journal.append(
      statusRecords(journal.statusState, { status: "failed", at: journal.clock.now(), error: describeError(error) }),
    );
    await journal.durable();
  } catch {
    // The run rejects with what made it fail; that its failure could not be recorded leaves it interrupted.
  }
}
