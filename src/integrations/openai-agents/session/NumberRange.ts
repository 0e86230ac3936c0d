/** The first and the last number of consecutive items. The last number is equal or higher. */
export type NumberRange = readonly [first: number, last: number];

interface Numbered {
  readonly number: number;
}

export function rangesOf(items: readonly Numbered[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const { number } of items) {
    const open = ranges.at(-1);
    if (open && open[1] + 1 === number) open[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

/** Returns all numbers in ranges. Check {@link countOf} before, because stored ranges can be huge. */
export function numbersIn(given: readonly NumberRange[]): number[] {
  return given.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
}

export function countOf(given: readonly NumberRange[]): number {
  return given.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** Returns the items of a range that exist. */
export function itemsOfRange<Item extends Numbered>(
  known: ReadonlyMap<number, Item>,
  [first, last]: NumberRange,
): readonly Item[] {
  if (last - first < known.size) return numbersIn([[first, last]]).flatMap((number) => known.get(number) ?? []);
  const items = [...known.values()].filter(({ number }) => number >= first && number <= last);
  return items.sort((a, b) => a.number - b.number);
}

export function hasNumber(given: readonly NumberRange[], number: number): boolean {
  return given.some(([first, last]) => number >= first && number <= last);
}

/** Returns the numbers at the positions from `from` to before `to`. */
export function sliceOf(given: readonly NumberRange[], from: number, to = Infinity): readonly NumberRange[] {
  let at = 0;
  return given.flatMap(([first, last]): NumberRange[] => {
    const part = [Math.max(first, first + from - at), Math.min(last, first + to - at - 1)] as const;
    at += last - first + 1;
    return part[0] <= part[1] ? [part] : [];
  });
}

/** Joins two lists of ranges. Merges the last range and the next one if no number is between them. */
export function joinedRanges(ranges: readonly NumberRange[], added: readonly NumberRange[]): readonly NumberRange[] {
  const [last, [next, ...others]] = [ranges.at(-1), added];
  if (!last || !next || last[1] + 1 !== next[0]) return [...ranges, ...added];
  return [...ranges.slice(0, -1), [last[0], next[1]], ...others];
}
