import type { GraphValue } from "./GraphValue.ts";
import type { ItemReference, Segment, ValueRecord } from "./GraphRecord.ts";
import type { Item } from "./Item.ts";
import { ItemList } from "./ItemList.ts";
import { isRange, withoutSnapshot } from "./valueChange.ts";

/**
 * Finds an item by number.
 *
 * @throws RangeError for an unknown number
 */
export type FindItem = (number: number) => Item;

/**
 * Applies a value record to the previous value. Inverse of {@link valueChange}.
 *
 * @throws RangeError if the record does not fit
 */
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

function changedList(before: ItemList | undefined, segments: readonly Segment[], find: FindItem): ItemList {
  const [first, ...others] = segments;
  const continues = before && isSpan(first) && first[0] === 0 && first[1] === before.length;
  const added = (continues ? others : segments).flatMap((segment) => itemsIn(segment, before, find));
  return continues ? before.continued(added) : ItemList.of(added);
}

function isSpan(segment: Segment | undefined): segment is readonly [from: number, to: number] {
  return Array.isArray(segment);
}

function itemsIn(segment: Segment, before: ItemList | undefined, find: FindItem): readonly Item[] {
  if (isSpan(segment)) return spanOf(before, segment);
  if (!isRange(segment)) return [itemOf(segment, find)];
  const [first, last] = segment.r;
  const items: Item[] = [];
  // The first unknown number throws, so that a huge range cannot loop for long.
  for (let number = first; number <= last; number++) items.push(find(number));
  return items;
}

function spanOf(before: ItemList | undefined, [from, to]: readonly [from: number, to: number]): readonly Item[] {
  if (!before || from < 0 || from > to || to > before.length)
    throw new RangeError(`a list has no items from ${from} to ${to}`);
  return before.slice(from, to);
}
