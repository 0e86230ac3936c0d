/** Values in which everything is frozen: they are given out as they are. */
const frozen = new WeakSet<object>();

/**
 * What to give out of an isolated value, so that nobody can change the value through it: what is frozen as it is, and a
 * copy of each date, map, set and array of bytes. Instances of other classes are given out as they are.
 */
export function copyMutableParts<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || frozen.has(value)) return value;
  const lent = copyChangeable(value);
  if (lent === value) frozen.add(value);
  return lent as Value;
}

function copyChangeable(value: object): object {
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Map)
    return new Map([...value].map(([key, item]) => [copyMutableParts<unknown>(key), copyMutableParts<unknown>(item)]));
  if (value instanceof Set) return new Set([...value].map((item) => copyMutableParts<unknown>(item)));
  if (Array.isArray(value))
    return isSame(value, value.map(copyMutableParts)) ? value : Object.freeze(value.map(copyMutableParts));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return lendProperties(value, prototype);
}

function lendProperties(value: object, prototype: object | null): object {
  const items: unknown[] = Object.values(value);
  const lent = items.map(copyMutableParts);
  if (isSame(items, lent)) return value;
  const copy = Object.create(prototype) as object;
  // Defined, not assigned: an own `__proto__` is a key like any other.
  Object.keys(value).forEach((key, at) => Object.defineProperty(copy, key, { value: lent[at], enumerable: true }));
  return Object.freeze(copy);
}

function isSame(items: readonly unknown[], lent: readonly unknown[]): boolean {
  return items.every((item, at) => Object.is(item, lent[at]));
}
