import { type Chunk, linesIn, mapSpans, type Span } from "./Chunk.ts";
import { eachVersion, type MergeVersions } from "./MergeResult.ts";
import { diff3MergeRegions } from "node-diff3";

type Numbered = MergeVersions<readonly number[]>;

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
