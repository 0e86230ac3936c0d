import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { GraphValue } from "../thread/GraphValue.ts";
import type { ItemsRecord } from "../thread/GraphRecord.ts";
import type { Item } from "../thread/Item.ts";
import { ItemList } from "../thread/ItemList.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import { isSameGraphValue } from "../thread/isSameGraphValue.ts";
import { withoutSnapshot } from "../thread/valueChange.ts";
import type { Json } from "../values/Json.ts";
import type { CapturedItem, CapturedValue } from "./CapturedValue.ts";
import { isShort } from "./isShort.ts";
import { ItemSearch } from "./ItemSearch.ts";
import type { KnownItems, OwnFields } from "./KnownItems.ts";
import { sameStored } from "./sameStored.ts";

export type StoreValue = (json: Json) => StoredValue;

interface NewlyKnown {
  readonly source: object;
  readonly item: Item;
  readonly fields: OwnFields;
}

/**
 * Converts captured values to items. Reuses existing items of the thread and creates the others. Append the record of
 * new items before the records that refer to them.
 */
export class ItemWriter {
  readonly #added: Item[] = [];
  readonly #known: NewlyKnown[] = [];
  /** Maps source objects to items, so that an object in several values is stored once. */
  readonly #made = new Map<object, Item>();
  readonly #first: number;

  constructor(
    readonly state: ThreadState,
    readonly store: StoreValue,
    /** Further items to reuse, such as those of the writes that produced a checkpoint. */
    readonly candidates: () => readonly Item[],
  ) {
    this.#first = state.nextItem;
  }

  /** @param before the replaced value, whose items can be reused */
  value(captured: CapturedValue, before: GraphValue | undefined): GraphValue {
    if (captured.kind === "snapshot")
      return { kind: "snapshot", value: this.value(captured.value, withoutSnapshot(before)) };
    const value = this.#valueOf(captured, new ItemSearch(before, this.candidates));
    return before && isSameGraphValue(before, value) ? before : value;
  }

  #valueOf(captured: Exclude<CapturedValue, { kind: "snapshot" }>, search: ItemSearch): GraphValue {
    if (captured.kind === "one") return { kind: "one", item: this.#item(captured.item, search, 0) };
    if (captured.kind === "list") {
      const items = captured.items.map((item, at) => this.#item(item, search, at));
      return { kind: "list", list: ItemList.of(items) };
    }
    const entries = captured.entries.map(([key, item]) => [key, this.#item(item, search, key)] as const);
    return { kind: "map", entries: new Map(entries) };
  }

  records(): readonly ItemsRecord[] {
    return this.#added.length === 0 ? [] : [{ kind: "items", items: this.#added.map(({ stored }) => stored) }];
  }

  /** Registers the source objects after their records were added to the state. */
  remember(thread: string, known: KnownItems): void {
    for (const { source, item, fields } of this.#known) {
      const own = item.number === undefined ? undefined : this.state.items.get(item.number);
      if (own) known.set(thread, source, own, fields);
    }
  }

  #item(captured: CapturedItem, search: ItemSearch, place: number | string): Item {
    if ("stored" in captured) return this.#own(captured);
    const { json, source, fields } = captured;
    if (!source || !fields) return search.find(json, place) ?? this.#add(json);
    const item = this.#made.get(source) ?? search.find(json, place) ?? this.#add(json);
    this.#made.set(source, item);
    this.#known.push({ source, item, fields });
    return item;
  }

  /** Maps an item from an earlier read of the thread to an item of this state. */
  #own(known: Item): Item {
    const own = known.number === undefined ? undefined : this.state.items.get(known.number);
    if (own === known || (own && sameStored(own.stored, known.stored))) return own;
    return this.#addStored(known.stored);
  }

  #add(json: Json): Item {
    return isShort(json) ? { number: undefined, stored: json } : this.#addStored(this.store(json));
  }

  #addStored(stored: StoredValue): Item {
    const item: Item = { number: this.#first + this.#added.length, stored };
    this.#added.push(item);
    return item;
  }
}
