import type { StructureRecord } from "./lineRecords.ts";

export function structureKey({ code, fingerprint }: Pick<StructureRecord, "code" | "fingerprint">): string {
  return code ?? fingerprint;
}
