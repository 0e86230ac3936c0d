/** Which part of a list to show. Default: its end. */
export interface PageOptions {
  /** The items before this cursor. */
  readonly before?: number | undefined;
  /** The items after this cursor. */
  readonly after?: number | undefined;
  /** The most items of a page. Default: 100. */
  readonly limit?: number | undefined;
}

/** A part of a list, and the cursors of what is before and after it. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly before?: number;
  readonly after?: number;
}

const defaultLimit = 100;

/** A page of items that are sorted by a cursor. */
export function pageOf<Item>(
  all: readonly Item[],
  cursorOf: (item: Item) => number,
  { before = Infinity, after = -Infinity, limit = defaultLimit }: PageOptions,
): Page<Item> {
  const from = all.findIndex((item) => cursorOf(item) > after);
  const behind = all.findIndex((item) => cursorOf(item) >= before);
  const first = from === -1 ? all.length : from;
  const end = behind === -1 ? all.length : behind;
  // Read onwards from a cursor, a page begins there; else it ends at the end.
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
