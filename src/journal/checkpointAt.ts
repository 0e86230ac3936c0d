import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { Journal } from "./Journal.ts";

type Assigned = "kind" | "lane" | "version" | "id" | "at";
type CheckpointFields = Pick<CheckpointRecord, "node" | "input" | "iteration"> & {
  readonly [Field in Exclude<keyof CheckpointRecord, Assigned>]?: CheckpointRecord[Field] | undefined;
};

/** Returns a checkpoint record with the current time and the next version. Keeps the given order of fields. */
export function checkpointAt(
  journal: Pick<Journal, "nextVersion" | "clock" | "usage">,
  lane: number,
  fields: CheckpointFields,
): CheckpointRecord {
  const version = journal.nextVersion++;
  const { clock, usage } = journal;
  return withoutUndefined({ kind: "checkpoint", lane, version, at: clock.now(), usage, ...fields });
}
