import { messageClassOf } from "../values/messageFields.ts";
import type { Item } from "../thread/Item.ts";

/** The names and values of an object's own fields, in their order. Of a message, also of what is within them. */
export type OwnFields = readonly unknown[];

interface Known {
  readonly thread: string;
  readonly item: Item;
  readonly fields: OwnFields;
}

/**
 * The items that objects were stored as or read from. An object counts as unchanged while its own fields have the values
 * that they had. Comparing them takes a fraction of the time of storing the object again. A change deeper within is seen in
 * messages only: people edit the arguments of a call in place.
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
  const isDeep = messageClassOf(value) !== undefined;
  return isDeep || isPlain(value) ? addFields(value, isDeep, []) : undefined;
}

function addFields(value: object, isDeep: boolean, fields: unknown[]): OwnFields {
  for (const [key, field] of Object.entries(value)) {
    fields.push(key, field);
    if (isDeep && isOpened(key, field)) addFields(field, isDeep, fields);
  }
  return fields;
}

function hasFields(value: object, fields: OwnFields): boolean {
  return endOfFields(value, messageClassOf(value) !== undefined, fields, 0) === fields.length;
}

/** Where the fields of a value end; -1 if they are others. Makes nothing, because it is called for each item of each put. */
function endOfFields(value: object, isDeep: boolean, fields: OwnFields, from: number): number {
  let at = from;
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    const field = (value as Record<string, unknown>)[key];
    if (fields[at] !== key || !Object.is(field, fields[at + 1])) return -1;
    at += 2;
    if (isDeep && isOpened(key, field)) at = endOfFields(field, isDeep, fields, at);
    if (at < 0) return -1;
  }
  return at;
}

/** Whether the fields of a message's field count, too. `lc_kwargs` has the same values once more. */
function isOpened(key: string, field: unknown): field is object {
  return typeof field === "object" && field !== null && key !== "lc_kwargs" && isPlain(field);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
