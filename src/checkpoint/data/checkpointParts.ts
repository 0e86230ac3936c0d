import type { LargePart } from "../../errors/checkpoint/CheckpointTooLargeError.ts";
import type { BlobCell } from "../values/BlobCell.ts";
import { blobCellsIn } from "../records/blobReferences.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";

/** One record that a checkpoint adds, under the name that a user knows it by. */
export interface NamedRecord {
  readonly name: string;
  readonly record: AgentRecord;
}

/**
 * Whether records surely add no more than so many bytes: a rough look, since nearly every checkpoint is small.
 *
 * @param uploads whether there are blobs still to be put.
 */
export function surelyFits(records: readonly AgentRecord[], uploads: boolean, maxBytes: number): boolean {
  return 3 * estimateBytes(records) + (uploads ? newBlobBytes(records, new Set()) : 0) <= maxBytes;
}

/** The most that a checkpoint may add where nothing else is configured, in bytes of JSON. */
export const defaultMaxCheckpointBytes: number = 5 * 1024 * 1024;

/** What each record adds, largest first. A blob counts once, and one that the log has already counts nothing. */
export function checkpointParts(records: readonly NamedRecord[]): readonly LargePart[] {
  const counted = new Set<BlobCell>();
  const encoder = new TextEncoder();
  const bytes = new Map<string, number>();
  for (const { name, record } of records) {
    const own = encoder.encode(JSON.stringify(record)).length + newBlobBytes([record], counted);
    bytes.set(name, (bytes.get(name) ?? 0) + own);
  }
  return [...bytes].map(([name, size]) => ({ name, bytes: size })).sort((a, b) => b.bytes - a.bytes);
}

/** The name of a record for people. */
export function partName(record: AgentRecord): string {
  switch (record.kind) {
    case "message":
      return `message ${record.number}`;
    case "edit":
      return `messages ${record.insert.map(({ number }) => number).join(", ")}`;
    case "storage":
      return `storage key ${JSON.stringify(record.key)}`;
    case "settings":
      return "the model parameters";
    case "structure":
      return "the structure of the strategy";
    case "run":
      return "the input of the run";
    case "decision":
      return "decisions";
    default:
      return record.kind;
  }
}

/** A blob without a reference is still to be put. */
function newBlobBytes(records: readonly AgentRecord[], counted: Set<BlobCell>): number {
  let sum = 0;
  for (const record of records) {
    for (const cell of blobCellsIn(record)) {
      if (cell[0] === "" && !counted.has(cell)) sum += cell[1];
      counted.add(cell);
    }
  }
  return sum;
}
