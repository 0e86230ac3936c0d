import { messageClassOf } from "../values/messageFields.ts";
import type { Item } from "../thread/Item.ts";

/** The values of an object's own fields, in their order. */
export type OwnFields = readonly unknown[];

interface Known {
  readonly thread: string;
  readonly item: Item;
  readonly fields: OwnFields;
}

/**
 * The items that objects were stored as or read from. An object counts as unchanged while its own fields have the values
 * that they had: comparing them takes a fraction of storing the object again. What changes deeper within is not seen.
 */
export class KnownItems {
  readonly #known = new WeakMap<object, Known>();

  /** The item of an unchanged object; `undefined` for one that is new or changed. */
  find(thread: string, value: object): Item | undefined {
    const known = this.#known.get(value);
    return known && known.thread === thread && hasFields(value, known.fields) ? known.item : undefined;
  }

  /** @param fields what {@link ownFields} said when the item was made. */
  set(thread: string, value: object, item: Item, fields: OwnFields): void {
    this.#known.set(value, { thread, item, fields });
  }
}

/** `undefined` for an object that can change without a change of its own fields, such as a `Map`. */
export function ownFields(value: object): OwnFields | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  const shows = prototype === Object.prototype || prototype === null || Array.isArray(value);
  return shows || messageClassOf(value) !== undefined ? Object.values(value) : undefined;
}

function hasFields(value: object, fields: OwnFields): boolean {
  let at = 0;
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (at >= fields.length || !Object.is((value as Record<string, unknown>)[key], fields[at])) return false;
    at++;
  }
  return at === fields.length;
}
