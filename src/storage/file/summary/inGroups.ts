/**
 * Groups sorted items into groups of doubling size, so that a consumer of a few items reads only a few. Items with the
 * same key stay together.
 *
 * @param first - the size of the first group. `Infinity` yields a single group.
 */
export async function* inGroups<Item extends { readonly key: string }>(
  items: AsyncIterable<Item>,
  first: number,
  largest: number,
): AsyncGenerator<readonly Item[]> {
  let size = first;
  let group: Item[] = [];
  for await (const item of items) {
    if (group.length >= size && group.at(-1)?.key !== item.key) {
      yield group;
      group = [];
      size = Math.min(size * 2, largest);
    }
    group.push(item);
  }
  if (group.length > 0) yield group;
}
