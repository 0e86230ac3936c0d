import type { OutcomeRecord } from "../records/callRecords.ts";

/** Whether a call has an end that a replay gives back. One that waits, or that is to be made again, has none. */
export function isOver(outcome: OutcomeRecord | undefined): outcome is OutcomeRecord {
  return outcome !== undefined && !(outcome.suspended || outcome.unstarted || outcome.moved || outcome.retry);
}
