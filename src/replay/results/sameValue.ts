import { isSameValue } from "../../checkpoint/values/isSameValue.ts";

/** Like `isSameValue`, but compares plain data without its text. */
export function sameValue(a: unknown, b: unknown): boolean {
  const plain = samePlain(a, b);
  return plain ?? isSameValue(a, b);
}

/** Returns `undefined` for values that are not plain data. */
function samePlain(a: unknown, b: unknown): boolean | undefined {
  if (Object.is(a, b)) return true;
  if (typeof a === "string" && typeof b === "string") return false;
  if (Array.isArray(a) && Array.isArray(b)) return sameItems(a, b);
  return isPlain(a) && isPlain(b) ? sameFields(a, b) : undefined;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean | undefined {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    const same = samePlain(a[at], b[at]);
    if (same !== true) return same;
  }
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

function sameFields(a: Fields, b: Fields): boolean | undefined {
  const keys = Object.keys(a);
  // A field with the value `undefined` is not stored.
  if (keys.length !== Object.keys(b).length) return undefined;
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return undefined;
    const same = samePlain(a[key], b[key]);
    if (same !== true) return same;
  }
  return true;
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
