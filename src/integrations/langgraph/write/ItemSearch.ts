import { type GraphValue, itemsOf } from "../thread/GraphValue.ts";
import type { Item } from "../thread/Item.ts";
import type { Json } from "../values/Json.ts";
import { isShort } from "./isShort.ts";
import { sameStored } from "./sameStored.ts";

type Index = ReadonlyMap<string, Item>;

/**
 * Finds the item of a value: at the same position of the previous value, then at other positions and among further
 * candidates.
 */
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

  /** Indexes all positions, because items move when, for example, the oldest are removed. */
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

const keys = new WeakMap<Item, string>();

function keyOfItem(item: Item): string {
  const known = keys.get(item);
  if (known !== undefined) return known;
  const key = keyOf(item.stored as Json);
  keys.set(item, key);
  return key;
}

/** Returns a cheap hash key: the length and three parts of the JSON text. Equal texts have equal keys. */
function keyOf(json: Json): string {
  const text = JSON.stringify(json);
  const middle = text.length >> 1;
  return `${text.length} ${text.slice(0, 96)} ${text.slice(middle, middle + 24)} ${text.slice(-24)}`;
}
