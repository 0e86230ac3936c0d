import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

export function sameStored(a: StoredValue, b: StoredValue): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return JSON.stringify(a) === JSON.stringify(b);
}
