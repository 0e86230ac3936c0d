import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { encodeAppend } from "../appends/encodeAppend.ts";
import type { LogAppend } from "../RecordLog.ts";
import { orderBehindAgents } from "../summaries.ts";
import { tableSummary } from "./listTable.ts";
import type { TableAppend } from "./LogTable.ts";

/**
 * Encodes the next append of a log. A table stores the summary next to the append, in the same write. If the log does
 * not belong to an agent, such as a session, the append also contains the summary, because archives have no other place
 * for it.
 */
export function encodeRow(
  agentId: string,
  { summary, ...append }: LogAppend,
  generation: number,
  end: ChainLink,
  sha256: Sha256,
): { readonly row: TableAppend; readonly end: ChainLink } {
  const kept = summary?.order.startsWith(orderBehindAgents) ? { summary } : {};
  const appended = encodeAppend(agentId, { ...append, ...kept }, generation, end, sha256);
  const { position } = appended.end;
  const row = {
    position,
    encoded: appended.encoded.subarray(0, -1),
    snapshot: append.snapshot ?? false,
    pruned: prunedGapsOf(append.records).length > 0,
    ...(summary && { summary: tableSummary({ ...summary, agentId, position }, sha256) }),
  };
  return { row, end: appended.end };
}

export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
