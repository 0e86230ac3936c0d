import type { CheckpointRecord } from "../records/CheckpointRecord.ts";

export interface CheckpointPoint {
  /** The given id, or `<generation>-<version>` if it has none or a later checkpoint uses the same id. */
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly position: number;
  readonly runId: string;
  readonly parent: number | undefined;
  readonly record: CheckpointRecord;
  readonly order: number;
}
