import { type Chunk, linesIn, type Span } from "./Chunk.ts";
import { findAnchors, gapsBetween } from "./findAnchors.ts";
import { mergeFromBothEnds } from "./mergeFromBothEnds.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

/** Up to so many lines in its longest version a gap is compared line by line; more would take seconds where lines repeat. */
const longestGap = 500;
/** How often a gap that is too long is cut again, at lines that are single within it. */
const mostCuts = 4;

type Numbered = MergeVersions<readonly number[]>;

/**
 * Merges numbered lines: equal numbers mean equal lines. Cut at anchors first, so that the time grows with the length of
 * the files, and with the square of the gaps alone; a gap that stays too long is one conflict.
 */
export function mergeSpans(lines: Numbered): Chunk[] {
  return mergeWithin(
    lines,
    eachVersion(lines, ({ length }) => ({ start: 0, end: length })),
    mostCuts,
  );
}

function mergeWithin(lines: Numbered, within: MergeVersions<Span>, cutsLeft: number): Chunk[] {
  const anchors = findAnchors(lines, within);
  return gapsBetween(anchors, within).flatMap((gap, index) => {
    const anchor = anchors[index]?.base;
    const merged = mergeGap(lines, gap, cutsLeft);
    return anchor === undefined ? merged : [...merged, { take: "base", span: { start: anchor, end: anchor + 1 } }];
  });
}

function mergeGap(lines: Numbered, gap: MergeVersions<Span>, cutsLeft: number): Chunk[] {
  if (isEmpty(gap.ours) && isEmpty(gap.theirs)) return [];
  const { base, ours, theirs } = linesIn(lines, gap);
  if (isSame(ours, base) || isSame(ours, theirs)) return [{ take: "theirs", span: gap.theirs }];
  if (isSame(theirs, base)) return [{ take: "ours", span: gap.ours }];
  if (Math.max(base.length, ours.length, theirs.length) <= longestGap) return mergeFromBothEnds(lines, gap);
  if (cutsLeft === 0) return [{ take: undefined, spans: gap }];
  return mergeLongGap(lines, gap, cutsLeft - 1);
}

/** What all three begin and end with is left as it is. */
function mergeLongGap(lines: Numbered, gap: MergeVersions<Span>, cutsLeft: number): Chunk[] {
  const head = commonHead(lines, gap);
  const tail = commonTail(
    lines,
    eachVersion(gap, ({ start, end }) => ({ start: start + head, end })),
  );
  const inner = eachVersion(gap, ({ start, end }) => ({ start: start + head, end: end - tail }));
  return [
    { take: "base", span: { start: gap.base.start, end: inner.base.start } },
    ...mergeWithin(lines, inner, cutsLeft),
    { take: "base", span: { start: inner.base.end, end: gap.base.end } },
  ];
}

function commonHead({ base, ours, theirs }: Numbered, within: MergeVersions<Span>): number {
  const most = shortest(within);
  let count = 0;
  const isCommon = (at: number): boolean => {
    const line = base[within.base.start + at];
    return line === ours[within.ours.start + at] && line === theirs[within.theirs.start + at];
  };
  while (count < most && isCommon(count)) count++;
  return count;
}

function commonTail({ base, ours, theirs }: Numbered, within: MergeVersions<Span>): number {
  const most = shortest(within);
  let count = 0;
  const isCommon = (at: number): boolean => {
    const line = base[within.base.end - 1 - at];
    return line === ours[within.ours.end - 1 - at] && line === theirs[within.theirs.end - 1 - at];
  };
  while (count < most && isCommon(count)) count++;
  return count;
}

function shortest({ base, ours, theirs }: MergeVersions<Span>): number {
  return Math.min(base.end - base.start, ours.end - ours.start, theirs.end - theirs.start);
}

function isEmpty({ start, end }: Span): boolean {
  return start === end;
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((line, at) => line === other[at]);
}
