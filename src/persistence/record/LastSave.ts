import type { RunState } from "../../agent/state/RunState.ts";
import type { Journal } from "../../journal/Journal.ts";

export interface LastSave {
  readonly at: number;
  /** The bytes that the journal accepted for the lane before the save. */
  readonly valueBytes: number;
  readonly left: boolean;
  readonly progress: number | undefined;
  readonly progressSummary: string | undefined;
}

export function lastSave(
  journal: Journal,
  lane: number,
  { progress, progressSummary }: Partial<Pick<RunState, "progress" | "progressSummary">>,
): LastSave {
  const at = journal.clock.monotonic();
  return { at, valueBytes: journal.valueBytesOn(lane), left: false, progress, progressSummary };
}
