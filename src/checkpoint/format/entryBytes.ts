import type { LogRecord } from "../records/Entry.ts";
import { estimateBytes } from "../values/estimateBytes.ts";

/** About how many bytes an append takes besides its records. */
const envelopeBytes = 120;

/** About how many bytes an append with these records takes. What a pruning restates is counted as appends of its own. */
export function entryBytes(records: readonly LogRecord[]): number {
  return envelopeBytes + estimateBytes(records.map(withoutRestated));
}

function withoutRestated(record: LogRecord): object {
  return record.kind === "pruned" ? { ...record, restated: [] } : record;
}
