import { keyPath } from "../../checkpoint/values/valuePath.ts";

/** Where two values first differ. */
export interface Difference {
  /** Such as `.storage["a b"][3]`; empty for the values themselves. */
  readonly path: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/** Compares as JSON does, and bytes by content. Members that are `undefined` count as absent; order does not count. */
export function firstDifference(expected: unknown, found: unknown, path = ""): Difference | undefined {
  if (expected === found) return undefined;
  if (!isContainer(expected) || !isContainer(found) || kindOf(expected) !== kindOf(found))
    return { path, expected, found };
  if (expected instanceof Uint8Array) return sameBytes(expected, found) ? undefined : { path, expected, found };
  for (const key of new Set([...presentKeys(expected), ...presentKeys(found)])) {
    const at = Array.isArray(expected) ? `${path}[${key}]` : path + keyPath(key);
    const difference = firstDifference(ownMember(expected, key), ownMember(found, key), at);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Arrays, bytes and plain objects each equal their own kind; an instance of a class, such as a Date, equals nothing. */
function kindOf(value: object): unknown {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Uint8Array) return "bytes";
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype ? "an object" : value;
}

function presentKeys(value: object): string[] {
  return Object.keys(value).filter((key) => ownMember(value, key) !== undefined);
}

function ownMember(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

function sameBytes(expected: Uint8Array, found: object): boolean {
  return (
    found instanceof Uint8Array &&
    found.length === expected.length &&
    expected.every((byte, index) => byte === found[index])
  );
}
