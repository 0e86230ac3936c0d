/** Merges sorted iterables. Equal items keep the order of the iterables. Items are read on demand. */
export async function* mergeSorted<Item>(
  sources: readonly AsyncIterable<Item>[],
  compare: (a: Item, b: Item) => number,
): AsyncGenerator<Item> {
  const readers = sources.map((source) => source[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(readers.map((reader) => reader.next()));
    for (let first = firstOf(heads, compare); first >= 0; first = firstOf(heads, compare)) {
      const head = heads[first];
      const reader = readers[first];
      if (!head || head.done || !reader) return;
      yield head.value;
      heads[first] = await reader.next();
    }
  } finally {
    for (const reader of readers) await reader.return?.();
  }
}

function firstOf<Item>(heads: readonly IteratorResult<Item, unknown>[], compare: (a: Item, b: Item) => number): number {
  let first = -1;
  for (const [index, head] of heads.entries()) {
    const lowest = heads[first];
    if (head.done) continue;
    if (!lowest || lowest.done || compare(head.value, lowest.value) < 0) first = index;
  }
  return first;
}
