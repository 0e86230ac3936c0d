import { frozenCopy } from "./frozenCopy.ts";
import { maximumDepth } from "../maximumDepth.ts";
import { nextTurn } from "../nextTurn.ts";

/** The number of copied parts per turn of the event loop. */
const partsATurn = 10_000;
/** The number of primitive array items that count as one part. */
const itemsAPart = 20;

/**
 * Counts the fields, entries and nested values of a value up to `limit`. Returns `limit + 1` if there are more, or if
 * the value contains itself.
 */
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

interface Turn {
  left: number;
}

async function copyInTurns(value: unknown, turn: Turn, depth: number): Promise<unknown> {
  const parts = countParts(value, partsATurn);
  turn.left -= parts;
  if (turn.left < 0) {
    await nextTurn();
    turn.left = partsATurn;
  }
  if (parts <= partsATurn || depth > maximumDepth || !isPlain(value)) return frozenCopy(value);
  const items: unknown[] = [];
  for (const item of Object.values(value)) items.push(await copyInTurns(item, turn, depth + 1));
  if (Array.isArray(value)) return frozenCopy(items);
  const keys = Object.keys(value);
  return frozenCopy(Object.fromEntries(keys.map((key, at) => [key, items[at]])));
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
