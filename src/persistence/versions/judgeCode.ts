import type { Code } from "./CodeStructure.ts";
import { codeDifferences, keepsReached, type StoredStructure } from "./codeDifferences.ts";
import type { LinePoint } from "./reachedFrom.ts";
import type { Migration } from "./Migration.ts";
import type { Migrations } from "./Migrations.ts";
import type { StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import { structureKey } from "../../checkpoint/records/structureKey.ts";

export type CodeVerdict =
  | { readonly kind: "same" }
  /**
   * `compatible`: all code that the line can still run is unchanged. `incompatible`: it changed, and no migration
   * applies.
   */
  | { readonly kind: "compatible" | "incompatible"; readonly differences: readonly string[] }
  | { readonly kind: "migrates"; readonly chain: readonly Migration[] };

/**
 * Returns whether the code is unchanged, as far as the structure record shows. A three-method storage keeps no
 * versions.
 */
export function isSameCode(stored: StructureRecord, now: Code, keepsVersions: boolean): boolean {
  if (stored.code !== undefined) return structureKey(stored) === now.code;
  return stored.fingerprint === now.fingerprint && (!keepsVersions || now.structure.version === 0);
}

/** Judges changed code. @param structure `undefined` if the storage does not keep it. */
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
