import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** A class whose instances may be stored. Their own enumerable fields are stored; reading does not call the constructor. */
// The arguments do not matter, since the constructor is never called.
export type StorableClass = new (...args: never) => object;

const argumentsSchema = strictOptions({
  name: z.string(),
  class: customSchema("a class", (value) => typeof value === "function"),
});

const byName = new Map<string, StorableClass>();
const byPrototype = new Map<object, string>();

/**
 * Lets instances of a class be stored and read back as instances. Register the class under the same name in every
 * process that reads them, before the first run.
 *
 * @param name stored with each instance. Keep it for as long as stored data holds it.
 * @throws InvalidInputError when `name` is not a string or `storable` is not a class.
 * @throws TypeError when the name or the class is already registered with another one.
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
