/** Selects a page of a list. Defaults to the end of the list. */
export interface PageOptions {
  readonly before?: number | undefined;
  readonly after?: number | undefined;
  /** The maximum number of items. Defaults to 100. */
  readonly limit?: number | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly before?: number;
  readonly after?: number;
}

const defaultLimit = 100;

export function pageOf<Item>(
  all: readonly Item[],
  cursorOf: (item: Item) => number,
  { before = Infinity, after = -Infinity, limit = defaultLimit }: PageOptions,
): Page<Item> {
  const from = all.findIndex((item) => cursorOf(item) > after);
  const behind = all.findIndex((item) => cursorOf(item) >= before);
  const first = from === -1 ? all.length : from;
  const end = behind === -1 ? all.length : behind;
  // With `after`, a page starts at the cursor. Otherwise it ends at `before` or at the end of the list.
  const begins = after > -Infinity ? first : Math.max(first, end - limit);
  const ends = Math.max(begins, Math.min(end, begins + limit));
  const items = all.slice(begins, ends);
  const [firstItem] = items;
  const lastItem = items.at(-1);
  return {
    items,
    ...(firstItem !== undefined && begins > 0 && { before: cursorOf(firstItem) }),
    ...(lastItem !== undefined && ends < all.length && { after: cursorOf(lastItem) }),
  };
}
