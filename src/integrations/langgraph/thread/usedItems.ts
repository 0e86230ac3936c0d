import type { StoredCheckpoints } from "./Checkpoints.ts";
import { itemsOf } from "./GraphValue.ts";
import type { Item } from "./Item.ts";

/** Returns the numbered items of all checkpoints and writes, sorted by number and without duplicates. */
export function usedItems({ puts, namespaces }: StoredCheckpoints): readonly Item[] {
  const values = [...puts.values()].flatMap((put) => [...put.values.values()]);
  const entries = [...namespaces.values()].flatMap((namespace) => [...namespace.entries.values()]);
  const written = entries.flatMap(({ writes }) => writes.map(({ value }) => value));
  const used = new Set<Item>();
  for (const value of [...values, ...written]) for (const item of itemsOf(value)) used.add(item);
  return [...used].filter(({ number }) => number !== undefined).sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
}
