import type { Pack } from "../values/BlobCell.ts";
import type { AgentRecord, RestatedEntry } from "../records/AgentRecord.ts";

/** Removes packs without needed contents. A pack with one needed content stays whole. */
export function withoutPacks(
  restated: readonly RestatedEntry[],
  needed: ReadonlySet<string>,
): readonly RestatedEntry[] {
  return restated.map((entry) => ({ ...entry, records: entry.records.map((record) => leaner(record, needed)) }));
}

function leaner(record: AgentRecord, needed: ReadonlySet<string>): AgentRecord {
  if (record.kind === "note") return { ...record, ...leanerPacks(record, needed) };
  if (record.kind !== "rollback" || !record.participants) return record;
  const participants = record.participants.map((steps) => ({ ...steps, ...leanerPacks(steps, needed) }));
  return { ...record, participants };
}

function leanerPacks(
  { packs }: { readonly packs?: readonly Pack[] },
  needed: ReadonlySet<string>,
): { readonly packs?: readonly Pack[] } {
  return packs ? { packs: packs.filter(({ contents }) => contents.some(([hash]) => needed.has(hash))) } : {};
}
