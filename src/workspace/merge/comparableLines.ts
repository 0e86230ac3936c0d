import type { Steps } from "../files/Slice.ts";

/** One of two compared texts. */
export interface Comparable {
  /** The lines by number. */
  readonly lines: Int32Array;
  /** 1 for each changed line. Line `at` is stored at `at + 1`, with an unchanged line added at both ends. */
  readonly changed: Uint8Array;
  /** The indexes of the lines that need a comparison. */
  readonly places: Int32Array;
  /** The numbers of the lines that need a comparison. */
  readonly compared: Int32Array;
}

/** The upper bound of the number of matches from which a line is frequent. */
const mostMatches = 1_024;
/** The number of lines that are examined in each direction of a frequent line. */
const neighborhood = 100;
/** A frequent line counts as changed if, of the lines around it, less than one in this many is frequent. */
const outweighed = 4;

const keep = 0;
const unmatched = 1;
const frequent = 2;

/** Returns the lines to compare, without the common start and end, unmatched lines, and frequent lines among them. */
export function* comparableLines(
  from: Int32Array,
  to: Int32Array,
  counts: LineCounts,
): Steps<{ readonly from: Comparable; readonly to: Comparable }> {
  for (let at = 0; at < from.length; at++) counts.from[from[at]!]!++;
  for (let at = 0; at < to.length; at++) counts.to[to[at]!]!++;
  yield;
  const shortest = Math.min(from.length, to.length);
  let start = 0;
  while (start < shortest && from[start] === to[start]) start++;
  let tail = 0;
  while (tail < shortest - start && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  const sides = {
    from: yield* sideOf(from, { start, end: from.length - tail }, counts.to),
    to: yield* sideOf(to, { start, end: to.length - tail }, counts.from),
  };
  for (let at = 0; at < from.length; at++) counts.from[from[at]!] = 0;
  for (let at = 0; at < to.length; at++) counts.to[to[at]!] = 0;
  yield;
  return sides;
}

function* sideOf(
  lines: Int32Array,
  { start, end }: { readonly start: number; readonly end: number },
  matches: Int32Array,
): Steps<Comparable> {
  const tooMany = Math.min(roundedRoot(lines.length), mostMatches);
  const kinds = new Uint8Array(end - start);
  for (let at = start; at < end; at++) {
    const count = matches[lines[at]!]!;
    kinds[at - start] = count === 0 ? unmatched : count < tooMany ? keep : frequent;
  }
  yield;
  const changed = new Uint8Array(lines.length + 2);
  const places = new Int32Array(end - start);
  let count = 0;
  for (let at = 0; at < kinds.length; at++) {
    const kind = kinds[at];
    if (kind === unmatched || (kind === frequent && isAmongUnmatched(kinds, at))) changed[start + at + 1] = 1;
    else places[count++] = start + at;
  }
  const compared = new Int32Array(count);
  for (let at = 0; at < count; at++) compared[at] = lines[places[at]!]!;
  return { lines, changed, places: places.subarray(0, count), compared };
}

function isAmongUnmatched(kinds: Uint8Array, at: number): boolean {
  const before = lookAround(kinds, at, -1);
  if (before.without === 0) return false;
  const after = lookAround(kinds, at, 1);
  if (after.without === 0) return false;
  // The frequent line counts once in each direction, as in git.
  const others = before.frequent + after.frequent + 2;
  return others * outweighed < others + before.without + after.without;
}

/** Counts unmatched and frequent lines up to the next line that is compared. */
function lookAround(
  kinds: Uint8Array,
  at: number,
  step: 1 | -1,
): { readonly without: number; readonly frequent: number } {
  let [without, others] = [0, 0];
  for (let distance = 1; distance <= neighborhood; distance++) {
    const kind = kinds[at + distance * step];
    if (kind === undefined || kind === keep) break;
    if (kind === unmatched) without++;
    else others++;
  }
  return { without, frequent: others };
}

/** Returns a power of two near the square root, computed without floating point. */
export function roundedRoot(value: number): number {
  let root = 1;
  for (let rest = value; rest > 0; rest = Math.floor(rest / 4)) root *= 2;
  return root;
}

/** Counts of lines, indexed by line number. All counts are zero between uses. */
export interface LineCounts {
  readonly from: Int32Array;
  readonly to: Int32Array;
}

export function emptyCounts(different: number): LineCounts {
  return { from: new Int32Array(different), to: new Int32Array(different) };
}
