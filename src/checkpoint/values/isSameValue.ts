import { NotSerializableError } from "../../errors/storage/NotSerializableError.ts";
import { encodeValue, type StoredValue } from "./valueCodec.ts";

/** Whether two values are equal when restored, apart from the order of keys. A value that cannot be stored equals nothing. */
export function isSameValue(a: unknown, b: unknown): boolean {
  const text = canonicalText(a);
  return text !== undefined && text === canonicalText(b);
}

/** A value as text with sorted keys; `undefined` for a value that cannot be stored. */
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
