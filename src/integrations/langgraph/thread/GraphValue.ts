import type { Item } from "./Item.ts";
import type { ItemList } from "./ItemList.ts";

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
