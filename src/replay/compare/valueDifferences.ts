import type { ValueDifference } from "./RunComparison.ts";

/** The maximum number of differences. Two values without a common part have few, because they differ as a whole. */
const most = 200;

/** Returns the smallest parts of two JSON values that differ, in the order of their keys. */
export function valueDifferences(before: unknown, after: unknown): readonly ValueDifference[] {
  const found: ValueDifference[] = [];
  addDifferences(found, [], before, after);
  return found;
}

function addDifferences(found: ValueDifference[], path: ValueDifference["path"], before: unknown, after: unknown) {
  if (Object.is(before, after) || found.length >= most) return;
  const keys = commonKeys(before, after);
  if (!keys) {
    found.push({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) });
    return;
  }
  for (const key of keys) addDifferences(found, [...path, key], itemAt(before, key), itemAt(after, key));
}

/** Returns the keys of two lists or of two objects. `undefined` for other values, which have no parts in common. */
function commonKeys(before: unknown, after: unknown): readonly (string | number)[] | undefined {
  if (Array.isArray(before) && Array.isArray(after))
    return Array.from({ length: Math.max(before.length, after.length) }, (_item, index) => index);
  if (!isFields(before) || !isFields(after)) return undefined;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

function itemAt(value: unknown, key: string | number): unknown {
  return Object.hasOwn(value as object, key) ? (value as Readonly<Record<string | number, unknown>>)[key] : undefined;
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
