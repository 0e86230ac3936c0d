import type { Item } from "./Item.ts";

/**
 * A list of items. A continued list shares the array of the previous list, so that a long history costs only its new
 * items.
 */
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
