import { type Chunk, linesIn, mapSpans, type Span } from "./Chunk.ts";
import { diff3, settleSame } from "./diff3.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

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
