import { type Chunk, linesIn, type Span } from "./Chunk.ts";
import { findAnchors, gapsBetween } from "./findAnchors.ts";
import { mergeFromBothEnds } from "./mergeFromBothEnds.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

/** A gap with more lines is not compared line by line: that would take seconds where lines repeat. */
const longestGap = 500;
/** How often a gap that is too long is cut again, at lines that occur once within it. */
const mostCuts = 4;

type Numbered = MergeVersions<readonly number[]>;

/**
 * Merges numbered lines: equal numbers mean equal lines. It cuts at anchors first, so that the time grows with the length of
 * the files and the square of the gaps only. A gap that stays too long is one conflict.
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

/** Keeps the lines that all three have in common at the start and end. */
function mergeLongGap(lines: Numbered, gap: MergeVersions<Span>, cutsLeft: number): Chunk[] {
  const head = commonLines(lines, gap, ({ start }, count) => start + count);
  const rest = eachVersion(gap, ({ start, end }) => ({ start: start + head, end }));
  const tail = commonLines(lines, rest, ({ end }, count) => end - 1 - count);
  const inner = eachVersion(rest, ({ start, end }) => ({ start, end: end - tail }));
  return [
    { take: "base", span: { start: gap.base.start, end: inner.base.start } },
    ...mergeWithin(lines, inner, cutsLeft),
    { take: "base", span: { start: inner.base.end, end: gap.base.end } },
  ];
}

/** The number of places, counted by `placeIn` from one end of the spans, at which all three have the same line. */
function commonLines(
  { base, ours, theirs }: Numbered,
  within: MergeVersions<Span>,
  placeIn: (span: Span, count: number) => number,
): number {
  const most = shortest(within);
  for (let count = 0; count < most; count++) {
    const line = base[placeIn(within.base, count)];
    if (line !== ours[placeIn(within.ours, count)] || line !== theirs[placeIn(within.theirs, count)]) return count;
  }
  return most;
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
