import { type Change, joined } from "./combineEdits.ts";
import { findEdits } from "./findEdits.ts";
import type { LineCounts } from "./LineCounts.ts";
import type { MergeVersions, Span } from "./MergeResult.ts";
import { type NumberedVersions, textOfLines } from "./NumberedLines.ts";
import type { Steps } from "./Steps.ts";

/** The largest number of lines between two conflicts that become one conflict. */
const fewLines = 3;

/**
 * Removes lines that both sides share from the conflicts, and drops conflicts that are then empty. Joins conflicts that
 * are close together.
 */
export function* refineConflicts(
  versions: NumberedVersions,
  changes: readonly Change[],
  counts: LineCounts,
): Steps<readonly Change[]> {
  const refined: Change[] = [];
  for (const change of changes) {
    const parts = yield* partsOf(versions, change, counts);
    for (const part of parts) appendPart(versions, refined, part);
  }
  return refined;
}

function* partsOf(versions: NumberedVersions, change: Change, counts: LineCounts): Steps<readonly Change[]> {
  const { base, ours, theirs } = change.spans;
  if (change.take !== undefined || ours.start === ours.end || theirs.start === theirs.end) return [change];
  const linesOf = (version: keyof MergeVersions<unknown>): Int32Array =>
    versions[version].numbers.subarray(change.spans[version].start, change.spans[version].end);
  const edits = yield* findEdits(linesOf("ours"), linesOf("theirs"), counts);
  return edits.map(({ from, to }) => ({
    take: undefined,
    spans: { base, ours: moved(from, ours.start), theirs: moved(to, theirs.start) },
  }));
}

function moved({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by };
}

function appendPart({ ours }: NumberedVersions, parts: Change[], part: Change): void {
  const last = parts.at(-1);
  if (last?.take === undefined && last !== undefined && part.take === undefined) {
    const between = { start: last.spans.ours.end, end: part.spans.ours.start };
    if (between.end - between.start <= fewLines || !/[a-zA-Z0-9]/.test(textOfLines(ours, between))) {
      parts[parts.length - 1] = { take: undefined, spans: joined(last.spans, part.spans) };
      return;
    }
  }
  parts.push(part);
}
