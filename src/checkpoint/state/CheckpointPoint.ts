import type { CheckpointRecord } from "../records/CheckpointRecord.ts";

export interface CheckpointPoint {
  /** The given id. `<generation>-<version>` if no id was given, or if a later checkpoint was given the same id. */
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly position: number;
  readonly runId: string;
  readonly parent: number | undefined;
  readonly record: CheckpointRecord;
  readonly order: number;
}
