import { blobCellsOf } from "../../../checkpoint/records/blobReferences.ts";
import { messageClassOf } from "../values/messageFields.ts";
import type { Item } from "../thread/GraphValue.ts";

/** The fields of an object in order. Each field has three elements: name, value, and the fields of an opened value. */
export type OwnFields = readonly unknown[];

interface KnownItem {
  readonly thread: string;
  readonly item: Item;
  readonly isInBlob: boolean;
  readonly fields: OwnFields;
}

/**
 * The stored items of objects that this process has stored or read. An object counts as unchanged while its direct
 * fields have the same values. Comparing fields is much faster than serializing the object again. Deeper changes are
 * found only in messages, because users often edit the arguments of calls in place.
 */
export class KnownItems {
  readonly #known = new WeakMap<object, KnownItem>();

  find(thread: string, value: object): KnownItem | undefined {
    const known = this.#known.get(value);
    return known && known.thread === thread && hasFields(value, known.fields) ? known : undefined;
  }

  /** @param fields - the result of {@link ownFields} when the item was created. */
  set(thread: string, value: object, item: Item, fields: OwnFields): void {
    this.#known.set(value, { thread, item, isInBlob: blobCellsOf(item.stored).length > 0, fields });
  }
}

/** Returns `undefined` for an object that can change without a change of its fields, such as a `Map`. */
export function ownFields(value: object): OwnFields | undefined {
  const isDeep = messageClassOf(value) !== undefined;
  return isDeep || isPlain(value) ? fieldsOf(value, isDeep) : undefined;
}

/** Shared by all objects without fields, because a message has several. */
const noFields: OwnFields = [];

function fieldsOf(value: object, isDeep: boolean): OwnFields {
  const fields: unknown[] = [];
  for (const key in value) {
    const field = (value as Record<string, unknown>)[key];
    fields.push(key, field, isDeep && isOpened(key, field) ? fieldsOf(field, isDeep) : undefined);
  }
  return fields.length > 0 ? fields : noFields;
}

/** Must be fast: each checkpoint compares all messages of the thread. `for…in` needs no array of keys. */
function hasFields(value: object, fields: OwnFields): boolean {
  let at = 0;
  for (const key in value) {
    const field = (value as Record<string, unknown>)[key];
    if (fields[at] !== key || !Object.is(field, fields[at + 1])) return false;
    const opened = fields[at + 2] as OwnFields | undefined;
    if (opened && !hasFields(field as object, opened)) return false;
    at += 3;
  }
  return at === fields.length;
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
