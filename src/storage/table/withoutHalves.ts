import type { TableGap, TableRow } from "./LogTable.ts";

/**
 * Removes the remaining rows of ranges with missing rows. Such a range is being removed, or a crash interrupted its
 * removal.
 *
 * @param ranges - sorted and disjoint, like the rows.
 */
export function withoutHalves(rows: readonly TableRow[], ranges: readonly TableGap[]): readonly TableRow[] {
  const [start, end] = [rows[0]?.position ?? 0, rows.at(-1)?.position ?? 0];
  const kept: TableRow[] = [];
  let at = 0;
  for (const [first, last] of ranges) {
    const [from, to] = [indexOf(rows, first), indexOf(rows, last + 1)];
    if (to - from === Math.min(last, end) - Math.max(first, start) + 1) continue;
    kept.push(...rows.slice(at, from));
    at = to;
  }
  return at === 0 ? rows : [...kept, ...rows.slice(at)];
}

function indexOf(rows: readonly TableRow[], position: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.position ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
