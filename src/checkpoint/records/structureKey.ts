import type { StructureRecord } from "./lineRecords.ts";

/** What a structure is remembered by: all that it covers. */
export function structureKey({ code, fingerprint }: Pick<StructureRecord, "code" | "fingerprint">): string {
  return code ?? fingerprint;
}
