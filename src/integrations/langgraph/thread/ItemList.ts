import type { Item } from "./Item.ts";

/** A list of items. A list that continues another shares its array, so a long history costs what is new. */
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

  /** This list and what follows. */
  continued(added: readonly Item[]): ItemList {
    if (this.#items.length !== this.length) return ItemList.of([...this.slice(0, this.length), ...added]);
    for (const item of added) this.#items.push(item);
    return new ItemList(this.#items, this.#items.length);
  }
}
