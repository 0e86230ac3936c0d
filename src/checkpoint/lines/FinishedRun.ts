import type { Place } from "../records/SnapshotRecord.ts";

/** A run that has ended. */
export interface FinishedRun {
  readonly run: string;
  /** Where its end is. */
  readonly place: Place;
  readonly isCancelled: boolean;
}
