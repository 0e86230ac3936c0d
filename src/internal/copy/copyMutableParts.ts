/** Deeply frozen values, which need no copy. */
const frozen = new WeakSet<object>();

/**
 * Returns a value that callers can use without changing the frozen original. Dates, maps, sets and bytes are copied.
 * Frozen objects and class instances are shared.
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
  // `defineProperty` handles a `__proto__` key like any other key.
  Object.keys(value).forEach((key, at) => Object.defineProperty(copy, key, { value: lent[at], enumerable: true }));
  return Object.freeze(copy);
}

function isSame(items: readonly unknown[], lent: readonly unknown[]): boolean {
  return items.every((item, at) => Object.is(item, lent[at]));
}
