import { frozenCopy } from "./frozenCopy.ts";
import { maximumDepth } from "../maximumDepth.ts";
import { nextTurn } from "../nextTurn.ts";

/** What is copied between two turns of the event loop. */
const partsATurn = 10_000;
/** Items of an array are cheap if they are no objects. */
const itemsAPart = 20;

/**
 * Counts the fields, entries and nested values of a value, as far as `limit`: more than that is returned as `limit + 1`. A
 * value that contains itself has more than any limit.
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

/** {@link frozenCopy} of a value that may be large: others get their turn while it is copied. */
export async function frozenCopyInTurns<Value>(value: Value): Promise<Value> {
  return (await copyInTurns(value, { left: partsATurn }, 0)) as Value;
}

interface Turn {
  /** How many parts may be copied before the next turn. */
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

/** Whether a copy can be made of copies of its items. */
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
