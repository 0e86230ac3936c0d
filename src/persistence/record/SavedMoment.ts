import type { RunState } from "../../agent/state/RunState.ts";
import type { Journal } from "../../journal/Journal.ts";

/** What was when a checkpoint was saved. */
export interface SavedMoment {
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
  /** What the journal had taken for the lane. */
  readonly valueBytes: number;
  /** True once the run has left the node that the checkpoint names. */
  readonly left: boolean;
  readonly progress: number | undefined;
  readonly progressSummary: string | undefined;
}

/** This moment. */
export function savedMoment(
  journal: Journal,
  lane: number,
  { progress, progressSummary }: Pick<RunState, "progress" | "progressSummary">,
): SavedMoment {
  const at = journal.clock.monotonic();
  return { at, valueBytes: journal.valueBytesOn(lane), left: false, progress, progressSummary };
}
