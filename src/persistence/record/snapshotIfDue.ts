import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { SnapshotRecord } from "../../checkpoint/records/pruningRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import { snapshotOf, type SnapshotSource } from "./snapshotOf.ts";

/** A snapshot is due when this much was appended since the last one, and this many times its own size. */
const snapshotBytes = 1024 * 1024;
const snapshotProportion = 16;

/**
 * The snapshot that goes with a checkpoint; `undefined` while none is due. It is made to find out its size, which doubles
 * the wait for the next try when it is too large: each byte pays once.
 */
export function snapshotIfDue(
  record: CheckpointRecord,
  journal: Journal,
  source: () => SnapshotSource,
): SnapshotRecord | undefined {
  if (journal.appendedBytes < journal.snapshotDueBytes) return undefined;
  const snapshot = snapshotOf(record, source());
  const due = Math.max(snapshotBytes, snapshotProportion * estimateBytes(snapshot));
  journal.snapshotDueBytes = due > journal.appendedBytes ? due : snapshotBytes;
  if (due > journal.appendedBytes) return undefined;
  journal.writer.forget();
  return snapshot;
}
