import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";

/** Returns whether a running node made a checkpoint. */
export function madeWithin(record: CheckpointRecord): boolean {
  return record.visit !== undefined || isForeseen(record);
}

/** Returns whether a running node made a checkpoint that continues with another visit. */
export function isForeseen({ trigger, visit, move }: CheckpointRecord): boolean {
  return trigger === "asked_for" && visit === undefined && move === undefined;
}
