import type { CheckpointRecord } from "../records/CheckpointRecord.ts";

/** A checkpoint and its place in the log. */
export interface CheckpointPoint {
  /** The id it was given, or `<generation>-<version>`: without a given id, or when a later checkpoint was given the same. */
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly position: number;
  readonly runId: string;
  readonly parent: number | undefined;
  readonly record: CheckpointRecord;
  /** Orders all records of a log. */
  readonly order: number;
}
