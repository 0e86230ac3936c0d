import { addToGroup } from "../../internal/addToGroup.ts";
import { countFirst } from "../../internal/countFirst.ts";
import type { PrunedGap } from "../records/Entry.ts";

export interface ChainLink {
  readonly position: number;
  /** Empty before the first append of a log. */
  readonly checksum: string;
}

/** Verifies that each append refers to the previous one. A missing position must be declared as removed in a record. */
export class EntryChain {
  /** The gaps by their first position. */
  readonly #gaps = new Map<number, PrunedGap[]>();
  readonly #pruned: readonly (readonly [first: number, last: number])[];
  #end: ChainLink | undefined;

  /** @param start - the link before the first append. `undefined` if reading starts in the middle of a log. */
  constructor(gaps: readonly PrunedGap[], start?: ChainLink) {
    for (const gap of gaps) addToGroup(this.#gaps, gap.first, gap);
    this.#pruned = positionsOf(gaps);
    this.#end = start;
  }

  /** Accepts the next append. Returns a description of the defect of this append, or `undefined` if it is valid. */
  accept(next: ChainLink & { readonly prev: string }): string | undefined {
    const end = this.#end;
    const reached = end === undefined ? undefined : this.#across(end, next.position);
    this.#end = next;
    if (reached === undefined) return undefined;
    if (reached.position + 1 !== next.position)
      return `position ${reached.position + 1} was expected and ${next.position} found`;
    return reached.checksum === next.prev ? undefined : `position ${next.position} does not match the append before it`;
  }

  /** Returns whether a `pruned` record names this position, even if the append is still stored. */
  isPruned(position: number): boolean {
    const begun = countFirst(this.#pruned, ([first]) => first <= position);
    return position <= (this.#pruned[begun - 1]?.[1] ?? 0);
  }

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
    const found = this.#gaps.get(at.position + 1)?.filter(fits) ?? [];
    return found.reduce<PrunedGap | undefined>((a, b) => (a && a.last >= b.last ? a : b), undefined);
  }
}

export function positionsOf(gaps: readonly PrunedGap[]): readonly (readonly [first: number, last: number])[] {
  const ranges: [first: number, last: number][] = [];
  for (const { first, last } of [...gaps].sort((a, b) => a.first - b.first)) {
    const before = ranges.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else if (first <= last) ranges.push([first, last]);
  }
  return ranges;
}
