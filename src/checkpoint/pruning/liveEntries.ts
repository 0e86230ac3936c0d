import type { Entry, PrunedGap } from "../records/Entry.ts";
import type { AgentRecord, PrunedRecord } from "../records/AgentRecord.ts";

export function pruningIn(entries: readonly Entry[]): PrunedRecord | undefined {
  for (let at = entries.length - 1; at >= 0; at--) {
    const found = (entries[at]?.records as readonly AgentRecord[] | undefined)?.findLast(isPruned);
    if (found) return found;
  }
  return undefined;
}

/** Returns the entries that remain valid after the newest pruning. `entries` must begin at the start of the log. */
export function liveEntries(entries: readonly Entry[]): readonly Entry[] {
  const pruned = pruningIn(entries);
  if (!pruned) return entries;
  const restated = pruned.restated.map((kept): Entry => ({ ...kept, id: "", prev: "" }));
  return [...restated, ...entries.filter(({ position }) => position > pruned.upTo)];
}

function isPruned(record: AgentRecord): record is PrunedRecord {
  return record.kind === "pruned" && Array.isArray((record as Partial<PrunedRecord>).restated);
}

/**
 * Returns the ranges of appends that can be removed once their valid content is stored again. Keeps the first append of
 * each owner, so that an earlier owner detects the loss of its lease.
 */
export function prunedRanges(entries: readonly Entry[]): readonly PrunedGap[] {
  const gaps: PrunedGap[] = [];
  let before = { position: (entries[0]?.position ?? 1) - 1, checksum: "" };
  let generation = 0;
  const removeUpTo = (last: number, after: string) =>
    last > before.position && gaps.push({ first: before.position + 1, last, before: before.checksum, after });
  for (const entry of entries) {
    if (entry.generation === generation) continue;
    generation = entry.generation;
    removeUpTo(entry.position - 1, entry.prev);
    before = entry;
  }
  const last = entries.at(-1);
  if (last) removeUpTo(last.position, last.checksum);
  return gaps;
}
