/** A class whose instances may be stored. Its own enumerable fields are kept; its constructor is not called on reading. */
// A constructor of any arguments: they are never supplied.
export type StorableClass = new (...args: never) => object;

const byName = new Map<string, StorableClass>();
const byPrototype = new Map<object, string>();

/**
 * Lets instances of a class be stored and come back as instances. Register under the same name in every process that
 * reads them, before the first run.
 *
 * @param name stored with each instance; stable for as long as data with it exists.
 * @throws TypeError when the name or the class is already registered with another, or when they are none.
 */
export function registerClass(name: string, storable: StorableClass): void {
  if (typeof name !== "string" || typeof storable !== "function")
    throw new TypeError(`registerClass takes a name and a class, found ${typeof name} and ${typeof storable}.`);
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
