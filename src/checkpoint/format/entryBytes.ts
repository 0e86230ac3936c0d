import type { LogRecord } from "../records/Entry.ts";
import { estimateBytes } from "../values/estimateBytes.ts";

const envelopeBytes = 120;

/** Returns the approximate size of an append. Records that a pruning restates count as separate appends. */
export function entryBytes(records: readonly LogRecord[]): number {
  return envelopeBytes + estimateBytes(records.map(withoutRestated));
}

function withoutRestated(record: LogRecord): object {
  return record.kind === "pruned" ? { ...record, restated: [] } : record;
}
