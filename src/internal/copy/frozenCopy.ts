import { maximumDepth } from "../maximumDepth.ts";

const isolated = new WeakSet<object>();

/**
 * Returns a deep copy that the owner of the original cannot change. Plain objects and arrays are copied and frozen.
 * Dates, maps, sets and bytes are copied. Other values are returned unchanged, such as class instances and arrays with
 * extra keys: the codec decides whether they can be stored. Copies of this function are returned unchanged, so identity
 * means "the same value".
 */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const copy = copyOf(value, new Set());
  if (copy !== value) isolated.add(copy as object);
  return copy as Value;
}

/** Freezes a value without other references, such as a decoded one. {@link frozenCopy} returns it unchanged. */
export function freezeInPlace<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  freeze(value);
  isolated.add(value);
  return value;
}

function freeze(root: object): void {
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null || Object.isFrozen(value)) continue;
    if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) continue;
    Object.freeze(value);
    for (const item of Object.values(value)) open.push(item);
  }
}

function copyOf(value: unknown, ancestors: Set<object>): unknown {
  if (typeof value !== "object" || value === null || isolated.has(value) || ancestors.has(value)) return value;
  if (ancestors.size > maximumDepth) return value;
  ancestors.add(value);
  const copy = copyObject(value, ancestors);
  ancestors.delete(value);
  return copy;
}

function copyObject(value: object, ancestors: Set<object>): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return copyFields(value, prototype, ancestors);
  // `Buffer.slice` would share bytes. A Buffer becomes plain bytes, as in the log.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  const keys = Object.keys(value).length;
  if (prototype === Array.prototype) {
    const items = value as readonly unknown[];
    // Arrays with holes cannot be stored, and can have billions of holes.
    return keys !== items.length ? value : Object.freeze(items.map((item) => copyOf(item, ancestors)));
  }
  if (keys > 0) return value;
  if (prototype === Date.prototype) return new Date(value as Date);
  if (prototype === Map.prototype)
    return new Map(
      [...(value as Map<unknown, unknown>)].map(([key, item]) => [copyOf(key, ancestors), copyOf(item, ancestors)]),
    );
  if (prototype === Set.prototype) return new Set([...(value as Set<unknown>)].map((item) => copyOf(item, ancestors)));
  return value;
}

function copyFields(value: object, prototype: object | null, ancestors: Set<object>): unknown {
  if (Object.getOwnPropertySymbols(value).length > 0) return value;
  const copy: object = prototype === null ? (Object.create(null) as object) : {};
  for (const [key, item] of Object.entries(value)) define(copy, key, copyOf(item, ancestors));
  return Object.freeze(copy);
}

/** `defineProperty` handles a `__proto__` key like any other key. Assignment is several times faster for other keys. */
function define(target: object, key: string, value: unknown): void {
  if (key !== "__proto__") (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
