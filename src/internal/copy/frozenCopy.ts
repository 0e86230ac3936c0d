import { maximumDepth } from "../maximumDepth.ts";

const isolated = new WeakSet<object>();

/**
 * A deep copy that the owner of the original cannot change: plain objects and arrays are copied and frozen; dates, maps,
 * sets and bytes are copied. Any other value is returned unchanged, as is one that a copy would alter, such as an array with
 * own keys or an instance of a class: the codec decides whether it can be stored. A copy that this function made is also
 * returned unchanged, so identity means "the same value".
 */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const copy = copyOf(value, new Set());
  if (copy !== value) isolated.add(copy as object);
  return copy as Value;
}

/** Freezes a value that nothing else refers to, such as a decoded one. {@link frozenCopy} then returns it unchanged. */
export function freezeInPlace<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  freeze(value);
  isolated.add(value);
  return value;
}

function freeze(root: object): void {
  // A list and not recursion: what was read may be nested deeper than the stack goes.
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
  // Not `slice`: that of a Buffer shares its bytes. A Buffer becomes plain bytes here, as it does in the log.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  const keys = Object.keys(value).length;
  if (prototype === Array.prototype) {
    const items = value as readonly unknown[];
    // Holes cannot be stored, and there may be billions of them.
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

/** An own `__proto__` stays a key like any other; assignment is several times faster for the rest. */
function define(target: object, key: string, value: unknown): void {
  if (key !== "__proto__") (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
