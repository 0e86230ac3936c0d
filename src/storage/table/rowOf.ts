import { prunedGapsOf } from "../../checkpoint/records/prunedGaps.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { EncodedAppend } from "../lease/encodeAppend.ts";
import type { LogAppend } from "../RecordLog.ts";
import { tableSummary } from "./listTable.ts";
import type { TableAppend } from "./LogTable.ts";

/** Returns the row of an encoded append. */
export function rowOf(
  { records, snapshot = false }: LogAppend,
  { encoded, end: { position }, summary }: EncodedAppend,
  sha256: Sha256,
): TableAppend {
  return {
    position,
    encoded: encoded.subarray(0, -1),
    snapshot,
    pruned: prunedGapsOf(records).length > 0,
    ...(summary && { summary: tableSummary(summary, sha256) }),
  };
}

export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
