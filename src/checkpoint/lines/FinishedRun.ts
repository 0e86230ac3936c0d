import type { Place } from "../records/SnapshotRecord.ts";

export interface FinishedRun {
  readonly run: string;
  readonly place: Place;
  readonly isCancelled: boolean;
}
