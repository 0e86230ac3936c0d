import type { Span } from "./Chunk.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

/** The place of one line in each version. */
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
