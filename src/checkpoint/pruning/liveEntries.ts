import type { Entry } from "../records/Entry.ts";
import type { AgentRecord, PrunedRecord } from "../records/AgentRecord.ts";

/** The record that says what counts of everything before it; `undefined`: everything does. */
export function pruningIn(entries: readonly Entry[]): PrunedRecord | undefined {
  return entries.flatMap(({ records }) => (records as readonly AgentRecord[]).filter(isPruned)).at(-1);
}

/** A log as its newest pruning says it is. The entries must reach back to its start. */
export function liveEntries(entries: readonly Entry[]): readonly Entry[] {
  const pruned = pruningIn(entries);
  if (!pruned) return entries;
  const restated = pruned.restated.map((kept): Entry => ({ ...kept, id: "", prev: "" }));
  return [...restated, ...entries.filter(({ position }) => position > pruned.upTo)];
}

function isPruned(record: AgentRecord): record is PrunedRecord {
  return record.kind === "pruned" && Array.isArray((record as Partial<PrunedRecord>).restated);
}
