import { nextTurn } from "./nextTurn.ts";

/** Objects with only frozen or shared parts, which need no copy. */
export const frozen = new WeakSet<object>();

/** The number of parts that are copied in one turn of the event loop. */
const partsATurn = 10_000;
/** The number of primitive items of an array that count as one part. */
const itemsAPart = 20;

const isolated = new WeakSet<object>();

/**
 * Returns a deep copy that the owner of the original cannot change: plain objects and arrays are frozen, dates, maps,
 * sets and bytes copied. Class instances are shared, because the codec handles them. A copy is not copied again, so
 * that identical references mean equal values.
 */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  const walk: Walk = { ancestors: new Set(), objects: 0, isFrozen: true, copy: (item) => copyOf(item, walk) };
  const copy = copyOf(value, walk) as Value & object;
  if (copy !== value) isolated.add(copy);
  if (walk.isFrozen) frozen.add(copy);
  return copy;
}

/** Freezes a value that only the caller has, such as a decoded value. {@link frozenCopy} then returns it unchanged. */
export function freezeInPlace<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || isolated.has(value)) return value;
  if (freeze(value)) frozen.add(value);
  isolated.add(value);
  return value;
}

function freeze(root: object): boolean {
  let isWhole = true;
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open: object[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (frozen.has(value)) continue;
    const hasKeys = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    isWhole &&= hasKeys && !Object.isFrozen(value);
    if (Object.isFrozen(value) || !(hasKeys || isCollection(value))) continue;
    Object.freeze(value);
    for (const item of itemsOf(value)) if (typeof item === "object" && item !== null) open.push(item);
  }
  return isWhole;
}

interface Walk {
  readonly ancestors: Set<object>;
  /** The number of copied objects. An object counts once for each reference to it. `Infinity` after a cycle. */
  objects: number;
  isFrozen: boolean;
  readonly copy: Copy;
}

type Copy = (value: unknown) => unknown;

function copyOf(value: unknown, walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { ancestors } = walk;
  if (isolated.has(value)) walk.isFrozen &&= frozen.has(value);
  // Values with cycles or too many references cannot be stored, so that they need no complete copy.
  else if (ancestors.has(value)) walk.objects = Infinity;
  if (isolated.has(value) || ++walk.objects > maximumObjects || ancestors.size > maximumDepth) return value;
  ancestors.add(value);
  const copy = copyObject(value, walk.copy);
  ancestors.delete(value);
  walk.isFrozen &&= Object.isFrozen(copy);
  return copy;
}

function copyObject(value: object, copy: Copy): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return copyFields(value, prototype, copy);
  // `Buffer.slice` would share the bytes. A `Buffer` becomes a `Uint8Array`, as when it is read from a log.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  const keys = Object.keys(value).length;
  if (prototype === Array.prototype) {
    const items = value as readonly unknown[];
    // Arrays with holes cannot be stored. They can have billions of holes, so they are not copied.
    return keys !== items.length ? value : Object.freeze(items.map(copy));
  }
  if (keys > 0) return value;
  if (prototype === Date.prototype) return new Date(value as Date);
  if (prototype === Map.prototype)
    return new Map([...(value as Map<unknown, unknown>)].map((entry) => entry.map(copy) as [unknown, unknown]));
  if (prototype === Set.prototype) return new Set([...(value as Set<unknown>)].map(copy));
  return value;
}

function copyFields(value: object, prototype: object | null, copy: Copy): unknown {
  if (Object.getOwnPropertySymbols(value).length > 0) return value;
  const copied: object = prototype === null ? (Object.create(null) as object) : {};
  for (const [key, item] of Object.entries(value)) define(copied, key, copy(item));
  return Object.freeze(copied);
}

/** Sets a field. A key `__proto__` needs `defineProperty`, which is several times slower than an assignment. */
export function define(target: object, key: string, value: unknown): void {
  if (key !== "__proto__") (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Returns a frozen value with copies of its dates, maps, sets and bytes, so that callers cannot change the original.
 * Shares class instances, and all parts beyond the number that can be stored.
 */
export function copyMutableParts<Value>(value: Value): Value {
  let left = maximumObjects;
  const copyPart = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null || frozen.has(part) || --left < 0) return part;
    const isObject = isPlain(part);
    if (isObject && !Object.isFrozen(part)) return part;
    const copy = copyObject(part, copyPart) as object;
    if (!isObject || left < 0) return copy;
    const items: unknown[] = Object.values(copy);
    if (!Object.values(part).every((item, at) => Object.is(item, items[at]))) return copy;
    frozen.add(part);
    return part;
  };
  return copyPart(value) as Value;
}

/** Returns whether {@link copyMutableParts} copies every part that can change. `false` for class instances. */
export function isCopyable(value: unknown): boolean {
  if (typeof value !== "object" || value === null || frozen.has(value)) return true;
  if (value instanceof Uint8Array) return true;
  const hasItems = isCollection(value) || value instanceof Date || isPlain(value);
  return hasItems && [...itemsOf(value)].every(isCopyable);
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

function isCollection(value: unknown): value is ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> {
  return value instanceof Map || value instanceof Set;
}

function sizeOf(value: object): number {
  if (Array.isArray(value)) return Math.ceil(value.length / itemsAPart);
  if (isCollection(value)) return value.size;
  return Object.keys(value).length;
}

function itemsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return ([...value] as unknown[][]).flat();
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>;
  return Object.values(value);
}

/** The maximum depth of stored values. `JSON.stringify` overflows the stack for deeper values. */
export const maximumDepth = 1_000;

/** The maximum number of objects in a stored value. An object counts once for each reference to it. */
export const maximumObjects = 2_000_000;
