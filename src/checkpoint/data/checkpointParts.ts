import type { LargePart } from "../../errors/checkpointErrors.ts";
import type { BlobCell } from "../values/BlobCell.ts";
import { blobCellsIn } from "../records/blobReferences.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";

export interface NamedRecord {
  readonly name: string;
  readonly record: AgentRecord;
}

/** Returns whether records surely fit, by a quick estimate. @param uploads - whether blobs must still be stored. */
export function surelyFits(records: readonly AgentRecord[], uploads: boolean, maxBytes: number): boolean {
  return 6 * estimateBytes(records) + (uploads ? newBlobBytes(records, new Set()) : 0) <= maxBytes;
}

export const defaultMaxCheckpointBytes: number = 5 * 1024 * 1024;

/** Returns the size of each record, largest first. Counts each blob once, and only if it is not stored yet. */
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
    case "lane":
      return "the position in the run";
    case "run":
      return "the input of the run";
    case "decision":
      return "decisions";
    default:
      return record.kind;
  }
}

/** Returns the size of the blobs that are not stored yet, which have no reference. */
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
