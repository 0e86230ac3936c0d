/** Maps items in order while up to `width` calls run concurrently. An error of the items follows the results before it. */
export async function* inParallel<Item, Result>(
  items: AsyncIterable<Item>,
  width: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const pending: Promise<Result>[] = [];
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => ({ done: true, value: undefined, error }) as const);
      if (next.done !== true) pending.push(started(map(next.value)));
      while (pending.length > (next.done === true ? 0 : width)) yield await (pending.shift() as Promise<Result>);
      if ("error" in next) throw next.error;
      if (next.done === true) return;
    }
  } finally {
    await iterator.return?.();
  }
}

/** Prevents an unhandled rejection if an earlier item fails first. */
function started<Result>(call: Promise<Result>): Promise<Result> {
  call.catch(() => {});
  return call;
}
