import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

/** A stored value that lists, maps, writes and snapshots share. */
export interface Item {
  /** `undefined` for a short value, which is stored at each use. */
  readonly number: number | undefined;
  readonly stored: StoredValue;
}

/** The value of a channel or a write, composed of items. */
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

/** A list of items. A list that continues another one shares its array, so it costs only the new items. */
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
