import { type GraphValue, itemsOf } from "../thread/GraphValue.ts";
import type { Item } from "../thread/Item.ts";
import type { Json } from "../values/Json.ts";
import { isShort } from "./isShort.ts";
import { sameStored } from "./sameStored.ts";

type Index = ReadonlyMap<string, Item>;

/** Finds the item of a value: in the same place of the value before, else among further ones and in other places. */
export class ItemSearch {
  #further: Index | undefined;
  #moved: Index | undefined;

  constructor(
    readonly before: GraphValue | undefined,
    readonly further: () => readonly Item[],
  ) {}

  find(json: Json, place: number | string): Item | undefined {
    const there = this.#at(place);
    if (there && sameStored(there.stored, json)) return there;
    if (isShort(json)) return undefined;
    this.#further ??= indexed(this.further());
    if (this.#further.size === 0 && !there) return undefined;
    const key = keyOf(json);
    const item = this.#further.get(key) ?? (there && this.#movedIndex().get(key));
    return item && sameStored(item.stored, json) ? item : undefined;
  }

  /** Needed where another item is in the place: items may have moved, as when the oldest are removed. */
  #movedIndex(): Index {
    return (this.#moved ??= indexed(this.before ? itemsOf(this.before) : []));
  }

  #at(place: number | string): Item | undefined {
    const { before } = this;
    if (before?.kind === "one") return before.item;
    if (before?.kind === "list") return typeof place === "number" ? before.list.at(place) : undefined;
    return before?.kind === "map" && typeof place === "string" ? before.entries.get(place) : undefined;
  }
}

function indexed(items: readonly Item[]): Index {
  return new Map(items.filter(({ number }) => number !== undefined).map((item) => [keyOfItem(item), item]));
}

/** Of items that were looked at before. */
const keys = new WeakMap<Item, string>();

function keyOfItem(item: Item): string {
  const known = keys.get(item);
  if (known !== undefined) return known;
  const key = keyOf(item.stored as Json);
  keys.set(item, key);
  return key;
}

/** Values of one text have one key, and few others have it: the length and three parts of the text. */
function keyOf(json: Json): string {
  const text = JSON.stringify(json);
  const middle = text.length >> 1;
  return `${text.length} ${text.slice(0, 96)} ${text.slice(middle, middle + 24)} ${text.slice(-24)}`;
}
