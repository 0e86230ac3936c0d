import type { PrunedGap } from "../records/prunedGaps.ts";

/** The end of a chain: the position of an append and its checksum. */
export interface ChainLink {
  readonly position: number;
  /** Empty before the first append of a log. */
  readonly checksum: string;
}

/**
 * Follows the appends of a log by position and `prev`, so that a line that is lost, moved or put in from another log is
 * found although its own checksum is right. Only gaps that a `pruned` record names are passed over.
 */
export class EntryChain {
  readonly #gapsByFirst = new Map<number, PrunedGap[]>();
  readonly #pruned: PrunedRange[];
  #end: ChainLink | undefined;

  /** @param start what comes before the first append; absent when reading begins in the middle, where nothing is known. */
  constructor(gaps: readonly PrunedGap[], start?: ChainLink) {
    for (const gap of gaps) {
      const others = this.#gapsByFirst.get(gap.first);
      if (others) others.push(gap);
      else this.#gapsByFirst.set(gap.first, [gap]);
    }
    this.#pruned = rangesOf(gaps);
    this.#end = start;
  }

  /** Takes the next append. Returns what is wrong with it, `undefined` when it follows. */
  accept(next: ChainLink & { readonly prev: string }): string | undefined {
    const end = this.#end;
    const reached = end === undefined ? undefined : this.#across(end, next.position);
    this.#end = next;
    if (reached === undefined) return undefined;
    if (reached.position + 1 !== next.position)
      return `position ${reached.position + 1} was expected and ${next.position} found`;
    return reached.checksum === next.prev ? undefined : `position ${next.position} does not follow the one before it`;
  }

  /** True for a position that a `pruned` record names, whether or not its bytes are gone. */
  isPruned(position: number): boolean {
    let [low, high] = [0, this.#pruned.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#pruned[middle]?.last ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return (this.#pruned[low]?.first ?? Infinity) <= position;
  }

  /** Walks over pruned gaps that begin right after `from`, as far as `position` at most. */
  #across(from: ChainLink, position: number): ChainLink {
    let at = from;
    for (let gap = this.#gapAfter(at, position); gap !== undefined; gap = this.#gapAfter(at, position)) {
      at = { position: gap.last, checksum: gap.after };
    }
    return at;
  }

  #gapAfter(at: ChainLink, position: number): PrunedGap | undefined {
    if (at.position + 1 === position) return undefined;
    const fits = (gap: PrunedGap) => gap.before === at.checksum && gap.first <= gap.last && gap.last < position;
    const gaps = this.#gapsByFirst.get(at.position + 1) ?? [];
    return gaps.filter(fits).sort((a, b) => b.last - a.last)[0];
  }
}

type PrunedRange = Pick<PrunedGap, "first" | "last">;

/** The positions in gaps, as ranges that do not overlap, in order. */
function rangesOf(gaps: readonly PrunedGap[]): PrunedRange[] {
  const ranges: { first: number; last: number }[] = [];
  for (const { first, last } of gaps.toSorted((a, b) => a.first - b.first)) {
    const before = ranges.at(-1);
    if (first > last) continue;
    if (before && first <= before.last) before.last = Math.max(before.last, last);
    else ranges.push({ first, last });
  }
  return ranges;
}
