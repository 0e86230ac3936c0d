/** How many agents are read at a time, which bounds the files open at once. */
const atOnce = 16;

/** What an action makes of each item, a few at a time, in their order. */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  action: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(action))));
  return results;
}
