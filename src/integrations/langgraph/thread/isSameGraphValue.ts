import type { GraphValue } from "./GraphValue.ts";
import type { Item } from "./Item.ts";
import type { ItemList } from "./ItemList.ts";

export function isSameGraphValue(a: GraphValue, b: GraphValue): boolean {
  if (a.kind === "one") return b.kind === "one" && a.item === b.item;
  if (a.kind === "list") return b.kind === "list" && isSameList(a.list, b.list);
  if (a.kind === "map") return b.kind === "map" && isSameMap(a.entries, b.entries);
  return b.kind === "snapshot" && isSameGraphValue(a.value, b.value);
}

function isSameList(a: ItemList, b: ItemList): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a.at(at) !== b.at(at)) return false;
  return true;
}

function isSameMap(a: ReadonlyMap<string, Item>, b: ReadonlyMap<string, Item>): boolean {
  if (a.size !== b.size) return false;
  const others = b.entries();
  return [...a].every(([key, item]) => {
    const other = others.next().value;
    return other?.[0] === key && other[1] === item;
  });
}
