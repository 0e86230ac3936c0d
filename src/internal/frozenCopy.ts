import { nextTurn } from "./nextTurn.ts";

/** Deeply frozen values, which need no copy. */
const frozen = new WeakSet<object>();

/** The number of copied parts per turn of the event loop. */
const partsATurn = 10_000;
/** The number of primitive array items that count as one part. */
const itemsAPart = 20;

const isolated = new WeakSet<object>();

/**
 * Returns a deep copy that the owner of the original cannot change: plain objects and arrays are frozen, dates, maps,
 * sets and bytes copied. Other values are shared, because the codec decides about them. A copy by this function is
 * returned as it is, so identical references mean equal values.
 */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const copy = copyOf(value, { ancestors: new Set(), objects: 0 });
  if (copy !== value) isolated.add(copy as object);
  return copy as Value;
}

/**
 * Freezes a value without other references, such as a decoded value, so that {@link frozenCopy} returns it unchanged.
 */
export function freezeInPlace<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  freeze(value);
  isolated.add(value);
  return value;
}

/** The values of which {@link freezeInPlace} left a part unfrozen, such as a map or a class instance. */
export const changeable = new WeakSet<object>();

function freeze(root: object): void {
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open: object[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Object.isFrozen(value)) continue;
    if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) {
      changeable.add(root);
      continue;
    }
    Object.freeze(value);
    for (const item of Object.values(value) as readonly unknown[])
      if (typeof item === "object" && item !== null) open.push(item);
  }
}

interface Walk {
  readonly ancestors: Set<object>;
  /** The number of copied objects. A shared object counts once for each reference. `Infinity` after a cycle. */
  objects: number;
}

function copyOf(value: unknown, walk: Walk): unknown {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const { ancestors } = walk;
  // A cycle cannot be stored, and a copy along all paths through many linked objects would take too long.
  if (ancestors.has(value)) walk.objects = Infinity;
  if (++walk.objects > maximumObjects || ancestors.size > maximumDepth) return value;
  ancestors.add(value);
  const copy = copyObject(value, walk);
  ancestors.delete(value);
  return copy;
}

function copyObject(value: object, walk: Walk): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return copyFields(value, prototype, walk);
  // `Buffer.slice` would share bytes. A Buffer becomes plain bytes, as in the log.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  const keys = Object.keys(value).length;
  if (prototype === Array.prototype) {
    const items = value as readonly unknown[];
    // Arrays with holes cannot be stored, and can have billions of holes.
    return keys !== items.length ? value : Object.freeze(items.map((item) => copyOf(item, walk)));
  }
  if (keys > 0) return value;
  if (prototype === Date.prototype) return new Date(value as Date);
  if (prototype === Map.prototype)
    return new Map([...(value as Map<unknown, unknown>)].map(([key, item]) => [copyOf(key, walk), copyOf(item, walk)]));
  if (prototype === Set.prototype) return new Set([...(value as Set<unknown>)].map((item) => copyOf(item, walk)));
  return value;
}

function copyFields(value: object, prototype: object | null, walk: Walk): unknown {
  if (Object.getOwnPropertySymbols(value).length > 0) return value;
  const copy: object = prototype === null ? (Object.create(null) as object) : {};
  for (const [key, item] of Object.entries(value)) define(copy, key, copyOf(item, walk));
  return Object.freeze(copy);
}

/** `defineProperty` handles a `__proto__` key like any other key. Assignment is several times faster for other keys. */
export function define(target: object, key: string, value: unknown): void {
  if (key !== "__proto__") (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Returns a value with copies of its dates, maps, sets and bytes, so that callers cannot change the original. */
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
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  const items: unknown[] = Object.values(value);
  const lent = items.map(copyMutableParts);
  if (items.every((item, at) => Object.is(item, lent[at]))) return value;
  const copy = Array.isArray(value) ? [] : (Object.create(prototype as object | null) as object);
  Object.keys(value).forEach((key, at) => define(copy, key, lent[at]));
  return Object.freeze(copy);
}

/** Counts the fields, entries and nested values. Returns `limit + 1` if there are more, or if there is a cycle. */
export function countParts(value: unknown, limit: number): number {
  let parts = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null || next instanceof Uint8Array) continue;
    parts += 1 + sizeOf(next);
    if (parts > limit) return limit + 1;
    for (const item of itemsOf(next)) if (typeof item === "object" && item !== null) waiting.push(item);
  }
  return parts;
}

/** Like {@link frozenCopy} for large values. Yields to the event loop during the copy. */
export async function frozenCopyInTurns<Value>(value: Value): Promise<Value> {
  return (await copyInTurns(value, { left: partsATurn }, 0)) as Value;
}

async function copyInTurns(value: unknown, turn: { left: number }, depth: number): Promise<unknown> {
  const parts = countParts(value, partsATurn);
  turn.left -= parts;
  if (turn.left < 0) {
    await nextTurn();
    turn.left = partsATurn;
  }
  if (parts <= partsATurn || depth > maximumDepth || !isPlain(value)) return frozenCopy(value);
  const copy = Array.isArray(value) ? [] : {};
  for (const [key, item] of Object.entries(value)) define(copy, key, await copyInTurns(item, turn, depth + 1));
  return frozenCopy(copy);
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Object.getOwnPropertySymbols(value).length > 0) return false;
  if (Array.isArray(value)) return Object.keys(value).length === value.length;
  return Object.getPrototypeOf(value) === Object.prototype;
}

function sizeOf(value: object): number {
  if (Array.isArray(value)) return Math.ceil(value.length / itemsAPart);
  if (value instanceof Map || value instanceof Set) return value.size;
  return Object.keys(value).length;
}

function itemsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>;
  return Object.values(value);
}

/** The maximum nesting of stored values. `JSON.stringify` overflows the stack on depths that `JSON.parse` accepts. */
export const maximumDepth = 1_000;

/** The maximum number of objects in a stored value, counted once for each reference. */
export const maximumObjects = 2_000_000;
