import { entryBytes } from "../../checkpoint/format/entryBytes.ts";
import { EntryChain } from "../../checkpoint/format/EntryChain.ts";
import { prunedRanges } from "../../checkpoint/pruning/liveEntries.ts";
import { blobCellsOf } from "../../checkpoint/records/blobReferences.ts";
import type { Entry, LogRecord } from "../../checkpoint/records/Entry.ts";
import type { PrunedGap } from "../../checkpoint/records/prunedGaps.ts";
import type { ShapePrunedRecord } from "../../checkpoint/format/ShapeRecord.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { ShapeDefinition, ShapeState } from "./ShapeDefinition.ts";

export interface ShapePruning {
  readonly gaps: readonly PrunedGap[];
  readonly blobs: readonly string[];
  /** The approximate number of freed bytes. If not positive, the pruning is useless. */
  readonly bytes: number;
}

type Values<Rec extends LogRecord> = Pick<ShapeDefinition<Rec, ShapeState<Rec>>, "records" | "values">;

/**
 * Plans a pruning.
 *
 * @param stored the existing appends, oldest first.
 * @param restated the records that replace them.
 */
export function planShapePruning<Rec extends LogRecord>(
  shape: Values<Rec>,
  stored: readonly Entry[],
  restated: readonly LogRecord[],
): ShapePruning {
  const gaps = prunedRanges(stored);
  const chain = new EntryChain(gaps);
  const kept = new Set(restated.flatMap((record) => cellsIn(shape, record).map(([reference]) => reference)));
  const blobs = new Map<string, number>();
  let bytes = -entryBytes(restated);
  for (const { position, records } of stored) {
    if (chain.isPruned(position)) bytes += entryBytes(records);
    for (const [reference, length] of records.flatMap((record) => namedIn(shape, record)))
      if (!kept.has(reference)) blobs.set(reference, length);
  }
  for (const length of blobs.values()) bytes += length;
  return { gaps, blobs: [...blobs.keys()], bytes };
}

/** Returns the blobs of a record, and blobs that an earlier pruning may have failed to remove. */
function namedIn<Rec extends LogRecord>(shape: Values<Rec>, record: LogRecord): readonly (readonly [string, number])[] {
  if (record.kind !== "pruned") return cellsIn(shape, record).map(([reference, length]) => [reference, length]);
  return (record as ShapePrunedRecord).blobs.map((reference) => [reference, 0]);
}

/** Returns the blobs of a record. Records common to all shapes have no blobs. */
export function cellsIn<Rec extends LogRecord>(shape: Values<Rec>, record: LogRecord): readonly BlobCell[] {
  return record.kind in shape.records ? shape.values(record as Rec).flatMap(blobCellsOf) : [];
}
