import { type StructureRecord, structureKey } from "../../checkpoint/records/lineRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

export function structureRecord(
  setup: PersistenceSetup,
  lane: number,
  { writer, sha256 }: Pick<Journal, "writer" | "sha256">,
): StructureRecord {
  const { structure, fingerprint, code } = setup.code(sha256);
  const { version } = structure;
  return {
    kind: "structure",
    lane,
    fingerprint,
    code,
    ...(version > 0 && { version }),
    structure: writer.value(structure, "the structure of the strategy"),
  };
}

/** Returns the record without the structure if the log already contains it. */
export function structureReference(record: StructureRecord, journal: Pick<Journal, "structures">): StructureRecord {
  const key = structureKey(record);
  if (!journal.structures.has(key)) {
    journal.structures.add(key);
    return record;
  }
  const { structure: _structure, ...reference } = record;
  return reference;
}

/** Returns a record of the current code if it differs from the code in the stored state. */
export function changedStructure(
  setup: PersistenceSetup,
  { structure }: Pick<AgentState, "structure">,
  lane: number,
  journal: Journal,
): readonly StructureRecord[] {
  const { code } = setup.code(journal.sha256);
  if (structure && structureKey(structure) === code) return [];
  return [structureReference(structureRecord(setup, lane, journal), journal)];
}
