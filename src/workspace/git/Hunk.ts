/** The lines of the older file that a change replaces: `count` lines from line `start`, counted from 1. With 0 lines it adds after that line. */
export interface Hunk {
  readonly start: number;
  readonly count: number;
}

/** All lines of a file. */
export const wholeFile: Hunk = { start: 0, count: Number.POSITIVE_INFINITY };

/** The hunks of a diff of one file without context. A difference that is not shown by lines counts as the whole file. */
export function hunksIn(diff: string): readonly Hunk[] {
  const heads = [...diff.matchAll(/^@@ -([0-9]+)(?:,([0-9]+))? \+[0-9,]+ @@/gm)];
  if (heads.length === 0) return diff === "" ? [] : [wholeFile];
  return heads.map(([, start, count]) => ({ start: Number(start), count: Number(count ?? 1) }));
}

/** Whether two changes of one file replace a common line or are adjacent, so that a merge conflicts. */
export function meet(one: Hunk, other: Hunk): boolean {
  const [first, firstEnd] = edges(one);
  const [second, secondEnd] = edges(other);
  return first <= secondEnd && second <= firstEnd;
}

/** The gaps between lines at which a change begins and ends. */
function edges({ start, count }: Hunk): readonly [number, number] {
  return count === 0 ? [start, start] : [start - 1, start - 1 + count];
}
