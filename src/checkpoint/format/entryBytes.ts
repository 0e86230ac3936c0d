import type { AgentRecord } from "../records/AgentRecord.ts";
import { estimateBytes } from "../values/estimateBytes.ts";

/** About how many bytes an append takes besides its records. */
const envelopeBytes = 120;

/** About how many bytes an append with these records takes. What a pruning restates is counted as appends of its own. */
export function entryBytes(records: readonly AgentRecord[]): number {
  return envelopeBytes + estimateBytes(records.map(withoutRestated));
}

function withoutRestated(record: AgentRecord): AgentRecord {
  return record.kind === "pruned" ? { ...record, restated: [] } : record;
}
