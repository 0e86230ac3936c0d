import type { Entry } from "../records/Entry.ts";
import type { AgentRecord, PrunedRecord } from "../records/AgentRecord.ts";

export function pruningIn(entries: readonly Entry[]): PrunedRecord | undefined {
  for (let at = entries.length - 1; at >= 0; at--) {
    const found = (entries[at]?.records as readonly AgentRecord[] | undefined)?.findLast(isPruned);
    if (found) return found;
  }
  return undefined;
}

/**
 * Returns the valid entries of a log after its newest pruning. The given entries must start at the start of the log.
 */
export function liveEntries(entries: readonly Entry[]): readonly Entry[] {
  const pruned = pruningIn(entries);
  if (!pruned) return entries;
  const restated = pruned.restated.map((kept): Entry => ({ ...kept, id: "", prev: "" }));
  return [...restated, ...entries.filter(({ position }) => position > pruned.upTo)];
}

function isPruned(record: AgentRecord): record is PrunedRecord {
  return record.kind === "pruned" && Array.isArray((record as Partial<PrunedRecord>).restated);
}
