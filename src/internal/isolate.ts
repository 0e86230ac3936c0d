const isolated = new WeakSet<object>();

/**
 * A deep copy that nothing outside can change: plain objects and arrays are copied and frozen, dates, maps, sets and
 * bytes are copied, anything else is kept as it is. What this function made before is returned as it is, so identity
 * says "the same value".
 */
export function isolate<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const copy = copyOf(value, new Set());
  isolated.add(copy as object);
  return copy as Value;
}

/** Freezes in place what nothing else refers to, such as a freshly decoded value, and takes it as already isolated. */
export function adopt<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  freeze(value);
  isolated.add(value);
  return value;
}

function freeze(value: object): void {
  const plain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!plain || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const item of Object.values(value)) if (typeof item === "object" && item !== null) freeze(item);
}

function copyOf(value: unknown, ancestors: Set<object>): unknown {
  if (typeof value !== "object" || value === null || isolated.has(value) || ancestors.has(value)) return value;
  ancestors.add(value);
  const copy = copyObject(value, ancestors);
  ancestors.delete(value);
  return copy;
}

function copyObject(value: object, ancestors: Set<object>): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => copyOf(item, ancestors)));
  if (value instanceof Date) return new Date(value);
  // Not `slice`: that of a Buffer shares its bytes. A Buffer becomes plain bytes here, as it does in the log.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Map)
    return new Map([...value].map(([key, item]) => [copyOf(key, ancestors), copyOf(item, ancestors)]));
  if (value instanceof Set) return new Set([...value].map((item) => copyOf(item, ancestors)));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: object = prototype === null ? (Object.create(null) as object) : {};
  for (const [key, item] of Object.entries(value)) define(copy, key, copyOf(item, ancestors));
  return Object.freeze(copy);
}

/** An own `__proto__` stays a key like any other; assignment is several times faster for the rest. */
function define(target: object, key: string, value: unknown): void {
  if (key !== "__proto__") (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
