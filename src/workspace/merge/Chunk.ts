import type { MergeVersions } from "./MergeResult.ts";

/** Consecutive lines of one version: from `start` to before `end`, counted from 0. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A part of a merge: lines to take from one version, or the lines of all three in a conflict. */
export type Chunk =
  | { readonly take: keyof MergeVersions<unknown>; readonly span: Span }
  | { readonly take: undefined; readonly spans: MergeVersions<Span> };

export function mapSpans(
  chunks: readonly Chunk[],
  change: (span: Span, version: keyof MergeVersions<unknown>) => Span,
): Chunk[] {
  return chunks.map((chunk) => {
    if (chunk.take !== undefined) return { take: chunk.take, span: change(chunk.span, chunk.take) };
    const { base, ours, theirs } = chunk.spans;
    const spans = { base: change(base, "base"), ours: change(ours, "ours"), theirs: change(theirs, "theirs") };
    return { take: undefined, spans };
  });
}

export function linesIn<Line>(
  lines: MergeVersions<readonly Line[]>,
  gap: MergeVersions<Span>,
): MergeVersions<readonly Line[]> {
  return {
    base: lines.base.slice(gap.base.start, gap.base.end),
    ours: lines.ours.slice(gap.ours.start, gap.ours.end),
    theirs: lines.theirs.slice(gap.theirs.start, gap.theirs.end),
  };
}
