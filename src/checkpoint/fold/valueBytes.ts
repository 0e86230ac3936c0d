import { blobCellsIn } from "./blobReferences.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";

/** About how many bytes records and the blobs that they refer to are. @param own what the records alone are. */
export function valueBytes(records: readonly AgentRecord[], own = estimateBytes(records)): number {
  let sum = own;
  for (const record of records) for (const [, bytes] of blobCellsIn(record)) sum += bytes;
  return sum;
}
