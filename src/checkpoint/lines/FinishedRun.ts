import type { CheckpointPosition } from "../records/SnapshotRecord.ts";

export interface FinishedRun {
  readonly run: string;
  readonly place: CheckpointPosition;
  readonly isCancelled: boolean;
}
