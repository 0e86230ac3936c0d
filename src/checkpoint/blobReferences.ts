import type { AgentRecord, Pack } from "./records.ts";
import type { StoredResult } from "./SlotReader.ts";
import { envelopeKeyOf, type Slot } from "./valueCodec.ts";

/** Adds the references of all blobs that a record needs: those of its values, and its packs. */
export function addBlobReferences(record: AgentRecord, into: Set<string>): void {
  addValueReferences(record, into);
  for (const { blob } of packsIn(record)) into.add(blob);
}

/** Adds the references of the blobs that a record's values are in. Content that merely looks like a reference is none. */
export function addValueReferences(record: AgentRecord, into: Set<string>): void {
  for (const slot of slotsOf(record)) addBlobReference(slot, into);
}

/** The packs whose contents a record brings in. */
export function packsIn(record: AgentRecord): readonly Pack[] {
  if (record.kind === "note") return record.packs ?? [];
  return record.kind === "rollback" ? (record.participants ?? []).flatMap(({ packs = [] }) => packs) : [];
}

/** Adds the reference of the blob that a value is in, and of those that the results of a tool message are in. */
export function addBlobReference(slot: Slot, into: Set<string>): void {
  if (typeof slot !== "object" || slot === null) return;
  const key = envelopeKeyOf(slot);
  if (key === "$blob") {
    const [reference] = (slot as { readonly $blob: readonly unknown[] }).$blob;
    if (typeof reference === "string") into.add(reference);
  }
  if (key !== "$outcomes") return;
  for (const result of (slot as { readonly $outcomes: readonly StoredResult[] }).$outcomes)
    addBlobReference(result.output, into);
}

/** The values in a record. */
function slotsOf(record: AgentRecord): readonly Slot[] {
  switch (record.kind) {
    case "message":
    case "answer":
      return [record.message];
    case "edit":
      return record.insert.map(({ message }) => message);
    case "storage":
    case "note":
      return [record.value];
    case "rollback":
      return (record.participants ?? []).map(({ steps }) => steps);
    case "settings":
      return [record.parameters];
    case "structure":
      return [record.structure];
    case "run":
    case "intent":
      return [record.input];
    case "outcome":
      return [record.input, record.output];
    case "checkpoint":
      return [
        record.input,
        ...(record.verification ?? []),
        ...(record.branches ?? []).flatMap(({ input, output }) => [input, output]),
      ];
    case "snapshot":
      return [
        ...slotsOf(record.checkpoint),
        ...slotsOf(record.run),
        ...record.history.map(({ message }) => message),
        ...Object.values(record.storage),
        record.settings?.parameters,
        record.structure?.structure,
      ];
    default:
      return [];
  }
}
