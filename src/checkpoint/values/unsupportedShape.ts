import { maximumObjects } from "../../internal/frozenCopy.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";

const mostDigits = 10_000;
const tooLarge = 10n ** BigInt(mostDigits);

/**
 * Returns why an object cannot be stored without loss, such as extra keys on an array, or `undefined`.
 *
 * @param walk - counts the objects of the value. A shared object counts once for each reference.
 */
export function unsupportedShape(value: object, walk: { objects: number } = { objects: 0 }): string | undefined {
  return ++walk.objects > maximumObjects ? `is beyond ${maximumObjects} objects` : unsupportedParts(value);
}

function unsupportedParts(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  if (isPlain) return Object.getOwnPropertySymbols(value).length > 0 ? "has a symbol as a key" : undefined;
  if (Array.isArray(value))
    return prototype === Array.prototype
      ? unsupportedKeys(Object.keys(value), value.length)
      : "is an instance of a class made of Array";
  if (prototype === Date.prototype && Number.isNaN(Number(value))) return "is an invalid date";
  const isCollection = prototype === Date.prototype || prototype === Map.prototype || prototype === Set.prototype;
  return isCollection && Object.keys(value).length > 0 ? "has keys of its own" : undefined;
}

function unsupportedKeys(keys: readonly string[], length: number): string | undefined {
  const isDense = keys.length === length && Number(keys.at(-1) ?? -1) === length - 1;
  return isDense ? undefined : "is an array with holes or keys of its own";
}

/** Returns why a bigint cannot be stored, or `undefined`. Parsing a very long bigint would take seconds. */
export function unsupportedBigint(value: bigint): string | undefined {
  return value > -tooLarge && value < tooLarge ? undefined : `is a bigint with more than ${mostDigits} digits`;
}

export function bigintOf(text: unknown): bigint {
  if (typeof text === "string" && /^-?\d{1,10000}$/.test(text)) return BigInt(text);
  throw new UnreadableValueError(`a bigint is not an integer of at most ${mostDigits} digits`);
}

export function keyPath(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
