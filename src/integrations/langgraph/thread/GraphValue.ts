import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { Json } from "../values/Json.ts";
import type { ItemReference, ListSegment, ValueRecord, FieldsChange } from "./GraphRecord.ts";

/** A stored value that several lists, maps, writes and snapshots can share. */
export interface Item {
  /** `undefined` for a short value, which is stored each time it is used. */
  readonly number: number | undefined;
  readonly stored: StoredValue;
}

/** The value of a channel or a write, made of items. */
export type GraphValue =
  | { readonly kind: "one"; readonly item: Item }
  | { readonly kind: "list"; readonly list: ItemList }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Item> }
  | { readonly kind: "snapshot"; readonly value: GraphValue };

export function itemsOf(value: GraphValue): readonly Item[] {
  if (value.kind === "one") return [value.item];
  if (value.kind === "list") return value.list.slice(0, value.list.length);
  return value.kind === "map" ? [...value.entries.values()] : itemsOf(value.value);
}

/** A list of items. A list that only adds items to another one shares its array, so it costs only the added items. */
export class ItemList {
  readonly #items: Item[];
  readonly length: number;

  private constructor(items: Item[], length: number) {
    this.#items = items;
    this.length = length;
  }

  static of(items: readonly Item[]): ItemList {
    return new ItemList([...items], items.length);
  }

  at(index: number): Item | undefined {
    return index >= 0 && index < this.length ? this.#items[index] : undefined;
  }

  slice(from: number, to: number): readonly Item[] {
    return this.#items.slice(from, Math.min(to, this.length));
  }

  continued(added: readonly Item[]): ItemList {
    if (this.#items.length !== this.length) return ItemList.of([...this.slice(0, this.length), ...added]);
    for (const item of added) this.#items.push(item);
    return new ItemList(this.#items, this.#items.length);
  }
}

export function isSameStored(a: StoredValue, b: StoredValue): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return JSON.stringify(a) === JSON.stringify(b);
}

export function valueChange(before: GraphValue | undefined, after: GraphValue): ValueRecord {
  if (after.kind === "one") return referenceTo(after.item);
  if (after.kind === "snapshot") return { d: valueChange(withoutSnapshot(before), after.value) };
  if (after.kind === "list") return { l: segments(before?.kind === "list" ? before.list : undefined, after.list) };
  return mapChange(before?.kind === "map" ? before.entries : undefined, after.entries);
}

/** Returns the value in a snapshot, so that a delta channel and a plain list can share items. */
export function withoutSnapshot(value: GraphValue | undefined): GraphValue | undefined {
  return value?.kind === "snapshot" ? value.value : value;
}

function referenceTo({ number, stored }: Item): ItemReference {
  return number ?? { v: stored as Json };
}

function segments(before: ItemList | undefined, after: ItemList): readonly ListSegment[] {
  const found: ListSegment[] = [];
  const kept = sharedStart(before, after);
  if (kept > 0) found.push([0, kept]);
  if (kept === after.length) return found;
  const places = before && before.length > kept ? placesIn(before, kept) : undefined;
  for (let at = kept; at < after.length; at++) {
    const item = after.at(at) as Item;
    addSegment(found, item, places?.get(item));
  }
  return found;
}

function sharedStart(before: ItemList | undefined, after: ItemList): number {
  const most = Math.min(before?.length ?? 0, after.length);
  let at = 0;
  while (at < most && before?.at(at) === after.at(at)) at++;
  return at;
}

function placesIn(list: ItemList, from: number): ReadonlyMap<Item, number> {
  const places = new Map<Item, number>();
  for (let at = from; at < list.length; at++) places.set(list.at(at) as Item, at);
  return places;
}

function addSegment(found: ListSegment[], item: Item, place: number | undefined): void {
  const last = found.at(-1);
  if (place !== undefined) {
    if (Array.isArray(last) && last[1] === place) found[found.length - 1] = [last[0] as number, place + 1];
    else found.push([place, place + 1]);
    return;
  }
  const { number } = item;
  if (number === undefined) found.push(referenceTo(item));
  else if (typeof last === "number" && last + 1 === number) found[found.length - 1] = { r: [last, number] };
  else if (isRange(last) && last.r[1] + 1 === number) found[found.length - 1] = { r: [last.r[0], number] };
  else found.push(number);
}

function isRange(segment: ListSegment | undefined): segment is { readonly r: readonly [a: number, b: number] } {
  return typeof segment === "object" && "r" in segment;
}

function mapChange(before: ReadonlyMap<string, Item> | undefined, after: ReadonlyMap<string, Item>): ValueRecord {
  const whole = { m: [...after].map(([key, item]) => [key, referenceTo(item)] as const) };
  if (!before) return whole;
  const removed = [...before.keys()].filter((key) => !after.has(key));
  const set = [...after].filter(([key, item]) => before.get(key) !== item);
  // An edited object has this key order: kept keys first, then new keys.
  const kept = [...before.keys()].filter((key) => after.has(key));
  const added = [...after.keys()].filter((key) => !before.has(key));
  const inPlace = [...kept, ...added];
  if ([...after.keys()].some((key, at) => key !== inPlace[at])) return whole;
  return { e: [set.map(([key, item]) => [key, referenceTo(item)] as const), removed] };
}

/** Finds an item by its number. @throws RangeError for an unknown number */
export type FindItem = (number: number) => Item;

/** Applies a value record to the previous value. Reverses {@link valueChange}. @throws RangeError */
export function changedValue(before: GraphValue | undefined, record: ValueRecord, find: FindItem): GraphValue {
  if (typeof record === "number" || "v" in record) return { kind: "one", item: itemOf(record, find) };
  if ("d" in record) return { kind: "snapshot", value: changedValue(withoutSnapshot(before), record.d, find) };
  if ("l" in record)
    return { kind: "list", list: changedList(before?.kind === "list" ? before.list : undefined, record.l, find) };
  if ("m" in record) return { kind: "map", entries: new Map(record.m.map(([key, item]) => [key, itemOf(item, find)])) };
  if (before?.kind !== "map") throw new RangeError("entries of a map change where there is no map");
  const entries = new Map(before.entries);
  for (const key of record.e[1]) entries.delete(key);
  for (const [key, item] of record.e[0]) entries.set(key, itemOf(item, find));
  return { kind: "map", entries };
}

function itemOf(reference: ItemReference, find: FindItem): Item {
  return typeof reference === "number" ? find(reference) : { number: undefined, stored: reference.v };
}

function changedList(before: ItemList | undefined, segments: readonly ListSegment[], find: FindItem): ItemList {
  const [first, ...others] = segments;
  const continues = before && isSpan(first) && first[0] === 0 && first[1] === before.length;
  const added = (continues ? others : segments).flatMap((segment) => itemsIn(segment, before, find));
  return continues ? before.continued(added) : ItemList.of(added);
}

function isSpan(segment: ListSegment | undefined): segment is readonly [from: number, to: number] {
  return Array.isArray(segment);
}

function itemsIn(segment: ListSegment, before: ItemList | undefined, find: FindItem): readonly Item[] {
  if (isSpan(segment)) return spanOf(before, segment);
  if (!isRange(segment)) return [itemOf(segment, find)];
  const [first, last] = segment.r;
  const items: Item[] = [];
  // `find` throws at the first unknown number, so that a forged range cannot run for long.
  for (let number = first; number <= last; number++) items.push(find(number));
  return items;
}

function spanOf(before: ItemList | undefined, [from, to]: readonly [from: number, to: number]): readonly Item[] {
  if (!before || from < 0 || from > to || to > before.length)
    throw new RangeError(`a list has no items from ${from} to ${to}`);
  return before.slice(from, to);
}

export type Fields = ReadonlyMap<string, Json>;

export function fieldsOf(value: Readonly<Record<string, Json>>): Fields {
  return new Map(Object.entries(value));
}

export function fieldsChange(before: Fields | undefined, after: Fields): FieldsChange | undefined {
  const set = [...after].filter(([name, value]) => !isSameStored(before?.get(name), value));
  const gone = before ? [...before.keys()].filter((name) => !after.has(name)) : [];
  if (set.length === 0 && gone.length === 0) return undefined;
  return { ...(set.length > 0 && { s: Object.fromEntries(set) }), ...(gone.length > 0 && { d: gone }) };
}

export function changedFields(before: Fields | undefined, change: FieldsChange | undefined): Fields {
  if (!change) return before ?? new Map();
  const fields = new Map(before);
  for (const name of change.d ?? []) fields.delete(name);
  for (const [name, value] of Object.entries(change.s ?? {})) fields.set(name, value);
  return fields;
}
