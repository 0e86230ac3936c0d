import type { Span } from "./Chunk.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

/** Where one line stands in each version. */
export type Anchor = MergeVersions<number>;

/**
 * Lines that stand once in each version, and in the same order in all of them: there the three can be cut, and each gap
 * be merged by itself. Without this the time grows with the square of the length, and worse where lines repeat.
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

/** The gaps between anchors, the anchors themselves left out: one more than there are anchors. */
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

/** For each line its place, or -1 when it stands more than once. */
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

/** The longest choice of anchors whose places in one version rise. */
function longestRising(anchors: readonly Anchor[], version: keyof Anchor): Anchor[] {
  // For each length the chain whose last place is the lowest.
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
