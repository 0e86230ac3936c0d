/** The number of agents to read concurrently, which limits the open files. */
const atOnce = 16;

export async function inTurn<Item, Result>(
  items: readonly Item[],
  action: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(action))));
  return results;
}
