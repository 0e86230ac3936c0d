import { diffArrays } from "diff";

/** Items of two lists that belong together. One is `undefined` if only the other list has the item. */
export type AlignedPair<Item> = readonly [before: Item | undefined, after: Item | undefined];

/**
 * Aligns two lists in their order. First matches items with equal first keys, then the items between these by their
 * second keys, and so on.
 *
 * @param keys - from strict to loose
 */
export function aligned<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keys: readonly ((item: Item) => string)[],
): readonly AlignedPair<Item>[] {
  const [key, ...looser] = keys;
  if (!key || before.length === 0 || after.length === 0)
    return [...before.map((item) => [item, undefined] as const), ...after.map((item) => [undefined, item] as const)];
  const pairs: AlignedPair<Item>[] = [];
  let [old, current]: [Item[], Item[]] = [[], []];
  let [from, to] = [0, 0];
  const close = () => {
    pairs.push(...aligned(old, current, looser));
    [old, current] = [[], []];
  };
  for (const { count, added, removed } of diffArrays(before.map(key), after.map(key))) {
    if (added) current.push(...after.slice(to, (to += count)));
    else if (removed) old.push(...before.slice(from, (from += count)));
    else {
      close();
      for (let at = 0; at < count; at++) pairs.push([before[from++], after[to++]]);
    }
  }
  close();
  return pairs;
}
