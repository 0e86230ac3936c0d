import { blobCellsIn } from "./blobReferences.ts";
import { estimateBytes } from "./estimateBytes.ts";
import type { AgentRecord } from "./records.ts";

/** About how many bytes records and the blobs that they refer to are. */
export function valueBytes(records: readonly AgentRecord[]): number {
  return estimateBytes(records) + records.flatMap(blobCellsIn).reduce((sum, [, bytes]) => sum + bytes, 0);
}
