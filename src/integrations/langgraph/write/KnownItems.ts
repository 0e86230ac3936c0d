import { messageClassOf } from "../values/messageFields.ts";
import type { Item } from "../thread/GraphValue.ts";

/** The names and values of the fields of an object, in order. For a message, nested fields as well. */
export type OwnFields = readonly unknown[];

interface Known {
  readonly thread: string;
  readonly item: Item;
  readonly fields: OwnFields;
  readonly isDeep: boolean;
}

/**
 * The stored items of objects that this process has stored or read. An object counts as unchanged while its direct
 * fields have the same values. Comparing fields is much faster than serializing the object again. Deeper changes are
 * found only in messages, because users often edit the arguments of calls in place.
 */
export class KnownItems {
  readonly #known = new WeakMap<object, Known>();

  find(thread: string, value: object): Item | undefined {
    const known = this.#known.get(value);
    return known && known.thread === thread && hasFields(value, known) ? known.item : undefined;
  }

  /** @param fields - the result of {@link ownFields} when the item was created. */
  set(thread: string, value: object, item: Item, fields: OwnFields): void {
    this.#known.set(value, { thread, item, fields, isDeep: isMessage(value) });
  }
}

/** Returns `undefined` for an object that can change without a change of its fields, such as a `Map`. */
export function ownFields(value: object): OwnFields | undefined {
  const isDeep = isMessage(value);
  return isDeep || isPlain(value) ? addFields(value, isDeep, []) : undefined;
}

function addFields(value: object, isDeep: boolean, fields: unknown[]): OwnFields {
  for (const [key, field] of Object.entries(value)) {
    fields.push(key, field);
    if (isDeep && isOpened(key, field)) addFields(field, isDeep, fields);
  }
  return fields;
}

/** Returns the index after the fields of a value, or -1 if a field differs. Must be fast. */
function endOfFields(value: object, isDeep: boolean, fields: OwnFields, from: number): number {
  let at = from;
  for (const key of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[key];
    if (fields[at] !== key || !Object.is(field, fields[at + 1])) return -1;
    at += 2;
    if (isDeep && isOpened(key, field)) at = endOfFields(field, isDeep, fields, at);
    if (at < 0) return -1;
  }
  return at;
}

function hasFields(value: object, { fields, isDeep }: Known): boolean {
  return endOfFields(value, isDeep, fields, 0) === fields.length;
}

function isMessage(value: object): boolean {
  return messageClassOf(value) !== undefined;
}

/** The fields of a message that are not compared in depth: copies of its other fields, and the place of its class. */
const closed = new Set(["lc_kwargs", "lc_namespace"]);

/** Returns whether nested fields of a field are compared. */
function isOpened(key: string, field: unknown): field is object {
  return typeof field === "object" && field !== null && !closed.has(key) && isPlain(field);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
