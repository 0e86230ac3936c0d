import { type StructureRecord, structureKey } from "../../checkpoint/records/lineRecords.ts";
import { type StoredStructure, codeDifferences, keepsReached } from "./codeDifferences.ts";
import type { Code } from "./CodeStructure.ts";
import type { Migration, Migrations } from "./Migrations.ts";
import type { LinePoint } from "./reachedFrom.ts";

export type CodeVerdict =
  | { readonly kind: "same" }
  /** `compatible`: the line can run only unchanged code. `incompatible`: no migration applies to a change. */
  | { readonly kind: "compatible" | "incompatible"; readonly differences: readonly string[] }
  | { readonly kind: "migrates"; readonly chain: readonly Migration[] };

/** Returns whether the code is unchanged as far as the record shows. A three-method storage keeps no versions. */
export function isSameCode(stored: StructureRecord, now: Code, keepsVersions: boolean): boolean {
  if (stored.code !== undefined) return structureKey(stored) === now.code;
  return stored.fingerprint === now.fingerprint && (!keepsVersions || now.structure.version === 0);
}

/**
 * Decides whether a line can continue with changed code.
 *
 * @param structure `undefined` if the structure is not stored.
 */
export function judgeCode(
  { version = 0 }: StructureRecord,
  structure: StoredStructure | undefined,
  now: Code,
  migrations: Migrations,
  point: LinePoint,
): CodeVerdict {
  const current = now.structure;
  const chain = migrations.chainFrom(version);
  if (chain && chain.length > 0) return { kind: "migrates", chain };
  if (!structure) {
    const nodes = current.nodes.map(({ name }) => name).join(", ");
    const unknown = `its nodes and edges, which this storage does not keep (now: ${nodes})`;
    return { kind: "incompatible", differences: [unknown] };
  }
  const differences = [
    ...codeDifferences(structure, current),
    ...(version === current.version ? [] : [`version ${version} is now ${current.version}`]),
  ];
  const fits = version <= current.version && keepsReached(structure, current, point);
  return { kind: fits ? "compatible" : "incompatible", differences };
}
