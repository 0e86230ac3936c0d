import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { encodeValue, type StoredValue } from "./valueCodec.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** The length of a digest, in characters. This length makes accidental collisions unlikely. */
const digestLength = 11;

/** Returns whether two values are equal after storage, apart from key order. False for values that cannot be stored. */
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

/** Returns a digest of a value. Values that differ after storage have different digests. Ignores the key order. */
export function valueDigest(value: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText(value) ?? "").slice(0, digestLength);
}
