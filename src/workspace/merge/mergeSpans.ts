import { type Chunk, eachVersion, linesIn, mapSpans, type MergeVersions, type Span } from "./MergeResult.ts";
import { diff3MergeRegions } from "node-diff3";

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

export type Anchor = MergeVersions<number>;

/**
 * Lines that occur once in each version, in the same order. The versions are cut there, and each gap is merged separately.
 * Without cuts the time grows with the square of the length, and faster where lines repeat.
 */
export function findAnchors(lines: MergeVersions<readonly number[]>, within: MergeVersions<Span>): Anchor[] {
  const places = {
    base: singles(lines.base, within.base),
    ours: singles(lines.ours, within.ours),
    theirs: singles(lines.theirs, within.theirs),
  };
  const common: Anchor[] = [];
  for (const [line, base] of places.base) {
    const ours = places.ours.get(line) ?? -1;
    const theirs = places.theirs.get(line) ?? -1;
    if (base >= 0 && ours >= 0 && theirs >= 0) common.push({ base, ours, theirs });
  }
  common.sort((a, b) => a.base - b.base);
  return longestRising(longestRising(common, "ours"), "theirs");
}

/** The gaps between anchors, without the anchors: one more than there are anchors. */
export function gapsBetween(anchors: readonly Anchor[], within: MergeVersions<Span>): MergeVersions<Span>[] {
  const before = eachVersion(within, ({ start }) => start - 1);
  const after = eachVersion(within, ({ end }) => end);
  return [...anchors, after].map((next, index) => {
    const last = anchors[index - 1] ?? before;
    return {
      base: { start: last.base + 1, end: next.base },
      ours: { start: last.ours + 1, end: next.ours },
      theirs: { start: last.theirs + 1, end: next.theirs },
    };
  });
}

/** The place of each line, or -1 when it occurs more than once. */
function singles(lines: readonly number[], { start, end }: Span): Map<number, number> {
  const places = new Map<number, number>();
  for (let at = start; at < end; at++) {
    const line = lines[at] ?? -1;
    places.set(line, places.has(line) ? -1 : at);
  }
  return places;
}

interface Link {
  readonly anchor: Anchor;
  readonly before: Link | undefined;
}

/** The longest sequence of anchors with rising places in one version. */
function longestRising(anchors: readonly Anchor[], version: keyof Anchor): Anchor[] {
  // For each length, the chain with the lowest last place.
  const chains: Link[] = [];
  for (const anchor of anchors) {
    const at = firstNotBelow(chains, version, anchor[version]);
    chains[at] = { anchor, before: chains[at - 1] };
  }
  const chosen: Anchor[] = [];
  for (let link = chains.at(-1); link !== undefined; link = link.before) chosen.push(link.anchor);
  return chosen.reverse();
}

function firstNotBelow(chains: readonly Link[], version: keyof Anchor, place: number): number {
  let [low, high] = [0, chains.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chains[middle]?.anchor[version] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Merges one gap. Where lines repeat, a change can be placed in more than one way, so that one comparison is clean and
 * another conflicts. So the gap is compared from both ends, and is clean only when both comparisons are clean and agree.
 */
export function mergeFromBothEnds(lines: Numbered, gap: MergeVersions<Span>): Chunk[] {
  const part = linesIn(lines, gap);
  const forward = diff3(part);
  if (hasConflict(forward)) return moved(forward, gap);
  const backward = mirrored(diff3(eachVersion(part, (numbers) => numbers.toReversed())), part);
  if (hasConflict(backward)) return moved(backward, gap);
  return isSameResult(part, forward, backward) ? moved(forward, gap) : settleSame(lines, gap);
}

function hasConflict(chunks: readonly Chunk[]): boolean {
  return chunks.some(({ take }) => take === undefined);
}

function isSameResult(lines: Numbered, one: readonly Chunk[], other: readonly Chunk[]): boolean {
  const taken = (chunks: readonly Chunk[]): number[] =>
    chunks.flatMap((chunk) =>
      chunk.take === undefined ? [] : lines[chunk.take].slice(chunk.span.start, chunk.span.end),
    );
  return taken(one).join() === taken(other).join();
}

function moved(chunks: readonly Chunk[], gap: MergeVersions<Span>): Chunk[] {
  return mapSpans(chunks, ({ start, end }, version) => ({
    start: start + gap[version].start,
    end: end + gap[version].start,
  }));
}

function mirrored(chunks: readonly Chunk[], lines: Numbered): Chunk[] {
  return mapSpans(chunks, ({ start, end }, version) => ({
    start: lines[version].length - end,
    end: lines[version].length - start,
  })).reverse();
}

/** A region as node-diff3 gives it: a is ours, o the base, b theirs. */
type Region =
  | {
      readonly stable: true;
      readonly buffer: "a" | "o" | "b";
      readonly bufferStart: number;
      readonly bufferLength: number;
    }
  | {
      readonly stable: false;
      readonly aStart: number;
      readonly aLength: number;
      readonly oStart: number;
      readonly oLength: number;
      readonly bStart: number;
      readonly bLength: number;
    };

const versionOf = { a: "ours", o: "base", b: "theirs" } as const;

/** Compares line by line. The time grows with the square of the length, and faster where lines repeat. */
export function diff3({ base, ours, theirs }: MergeVersions<readonly number[]>): Chunk[] {
  // Arrays, never texts: node-diff3 splits a text at any white space and drops it.
  const regions = diff3MergeRegions([...ours], [...base], [...theirs]) as readonly Region[];
  return regions.flatMap((region) => {
    if (!region.stable) return settleSame({ base, ours, theirs }, conflictOf(region));
    return [{ take: versionOf[region.buffer], span: spanOf(region.bufferStart, region.bufferLength) }];
  });
}

function conflictOf(region: Region & { readonly stable: false }): MergeVersions<Span> {
  return {
    base: spanOf(region.oStart, region.oLength),
    ours: spanOf(region.aStart, region.aLength),
    theirs: spanOf(region.bStart, region.bLength),
  };
}

/** Lines that both changes have in common at the start and end are no conflict; if nothing else is left, there is none. */
export function settleSame({ ours, theirs }: MergeVersions<readonly number[]>, spans: MergeVersions<Span>): Chunk[] {
  let [ourStart, theirStart] = [spans.ours.start, spans.theirs.start];
  let [ourEnd, theirEnd] = [spans.ours.end, spans.theirs.end];
  while (ourStart < ourEnd && theirStart < theirEnd && ours[ourStart] === theirs[theirStart]) {
    ourStart++;
    theirStart++;
  }
  while (ourStart < ourEnd && theirStart < theirEnd && ours[ourEnd - 1] === theirs[theirEnd - 1]) {
    ourEnd--;
    theirEnd--;
  }
  const rest = {
    base: spans.base,
    ours: { start: ourStart, end: ourEnd },
    theirs: { start: theirStart, end: theirEnd },
  };
  const isSettled = ourStart === ourEnd && theirStart === theirEnd;
  return [
    { take: "ours", span: { start: spans.ours.start, end: ourStart } },
    ...(isSettled ? [] : [{ take: undefined, spans: rest }]),
    { take: "ours", span: { start: ourEnd, end: spans.ours.end } },
  ];
}

function spanOf(start: number, length: number): Span {
  return { start, end: start + length };
}
