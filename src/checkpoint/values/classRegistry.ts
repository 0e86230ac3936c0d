import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";

/**
 * A class whose instances can be stored. Stores enumerable fields. Reading does not call the constructor, and restores a
 * `Buffer` as a `Uint8Array`.
 */
// Any arguments are allowed, because the constructor is never called.
export type StorableClass = new (...args: never) => object;

const argumentsSchema = strictOptions(() => ({
  name: z.string(),
  class: customSchema("a class that extends no built-in class", isStorable),
}));

/** Returns `false` for a class that extends a built-in class, whose data is not in fields and would be lost. */
function isStorable(value: unknown): boolean {
  let at = Object(value).prototype as object | null | undefined;
  // A prototype without a constructor inherits the constructor `Object`.
  while (
    at &&
    at !== Object.prototype &&
    (at.constructor === Object || !String(at.constructor).includes("[native code]"))
  )
    at = Object.getPrototypeOf(at) as object | null;
  return typeof value === "function" && (at === null || at === Object.prototype);
}

const byName = new Map<string, StorableClass>();
const byPrototype = new Map<object, string>();

/**
 * Registers a class, so that its instances can be stored and restored. Register the class with the same name in every
 * process that reads instances, before the first run.
 *
 * @example
 * ```ts
 * class Money {
 *   constructor(readonly cents: bigint) {}
 * }
 * registerClass("Money", Money);
 * ```
 * @param name Stored with each instance. Keep the name as long as stored data contains it.
 * @throws InvalidInputError if `name` is not a string, or `storable` is not a class or extends a built-in class.
 * @throws TypeError if the name or the class is already registered differently.
 */
export function registerClass(name: string, storable: StorableClass): void {
  checkSchema(argumentsSchema, { name, class: storable }, "arguments of registerClass");
  const prototype = storable.prototype as object;
  const known = byName.get(name);
  if (known !== undefined && known !== storable) throw new TypeError(`The class name "${name}" is already registered.`);
  const other = byPrototype.get(prototype);
  if (other !== undefined && other !== name)
    throw new TypeError(`The class "${name}" is already registered as "${other}".`);
  byName.set(name, storable);
  byPrototype.set(prototype, name);
}

export function nameOfClass(instance: object): string | undefined {
  return byPrototype.get(Object.getPrototypeOf(instance) as object);
}

export function classNamed(name: string): StorableClass | undefined {
  return byName.get(name);
}
