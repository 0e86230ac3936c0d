import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { type PrunedGap, prunedGapsOf } from "../../../checkpoint/records/prunedGaps.ts";
import type { FoundEntry } from "../format/SegmentScan.ts";

/** What of a damaged log hangs together from its beginning, and what does not. */
export interface IntactChain<Found> {
  /** The position before the first append. */
  readonly from: number;
  /** Oldest first. */
  readonly appends: readonly Found[];
  /** Positions after the last of them at which an intact append was found that nothing leads to, in their order. */
  readonly unreachable: readonly number[];
}

/**
 * Links appends that were found anywhere in the files of an agent. Where two follow the same one, that of the later owner
 * counts: it took over from there, so what an earlier one still wrote was never acknowledged.
 */
export function intactChain<Found extends Pick<FoundEntry, "entry">>(found: readonly Found[]): IntactChain<Found> {
  const gaps = found.flatMap(({ entry }) => prunedGapsOf(entry.records));
  const following = new Map<string, Found>();
  for (const append of [...found].sort((a, b) => a.entry.generation - b.entry.generation))
    following.set(place(append.entry.position, append.entry.prev), append);
  const from = startOf(found, gaps);
  const appends: Found[] = [];
  let end: ChainLink | undefined = { position: from, checksum: "" };
  let last = from;
  while (end !== undefined) {
    last = end.position;
    const next = following.get(place(end.position + 1, end.checksum));
    if (next !== undefined) appends.push(next);
    end = next?.entry ?? acrossGap(end, gaps);
  }
  const after = new Set(found.map(({ entry }) => entry.position).filter((position) => position > last));
  return { from, appends, unreachable: [...after].sort((a, b) => a - b) };
}

/** An agent that was deleted begins again at a higher position, by a later owner. */
function startOf(found: readonly Pick<FoundEntry, "entry">[], gaps: readonly PrunedGap[]): number {
  const firsts = found.filter(({ entry }) => entry.prev === "").map(({ entry }) => entry);
  const [first] = firsts.sort((a, b) => b.generation - a.generation);
  return (first?.position ?? gaps.find(({ before }) => before === "")?.first ?? 1) - 1;
}

function acrossGap(end: ChainLink, gaps: readonly PrunedGap[]): ChainLink | undefined {
  const gap = gaps.find(
    ({ first, last, before }) => first === end.position + 1 && before === end.checksum && last >= first,
  );
  return gap && { position: gap.last, checksum: gap.after };
}

function place(position: number, prev: string): string {
  return `${position} ${prev}`;
}
