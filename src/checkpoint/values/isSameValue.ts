import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { encodeValue, type StoredValue } from "./valueCodec.ts";

/**
 * Returns whether two values are equal after storage, apart from key order. A value that cannot be stored is never
 * equal.
 */
export function isSameValue(a: unknown, b: unknown): boolean {
  const text = canonicalText(a);
  return text !== undefined && text === canonicalText(b);
}

/** Returns a value as text with sorted keys, or `undefined` if it cannot be stored. */
export function canonicalText(value: unknown): string | undefined {
  try {
    return JSON.stringify(encodeValue(value, "a value"), (_key, part: StoredValue) => sorted(part));
  } catch (error) {
    if (error instanceof NotSerializableError) return undefined;
    throw error;
  }
}

function sorted(part: StoredValue): StoredValue {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
}
