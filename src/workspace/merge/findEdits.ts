import { type Comparable, comparableLines } from "./comparableLines.ts";
import { markDifferences } from "./markDifferences.ts";
import type { LineCounts } from "./LineCounts.ts";
import type { Span } from "./MergeResult.ts";
import { slideChanges } from "./slideChanges.ts";
import type { Steps } from "./Steps.ts";

/**
 * Consecutive lines of one text and the lines that replace them in the other text. One of the two spans may be empty.
 */
export interface Edit {
  readonly from: Span;
  readonly to: Span;
}

/**
 * Finds the ordered edits between two lists of numbered lines. The edits and their positions equal the edits of git's default
 * algorithm. If lines repeat, the positions decide whether a merge is clean.
 */
export function* findEdits(from: Int32Array, to: Int32Array, counts: LineCounts): Steps<readonly Edit[]> {
  const sides = yield* comparableLines(from, to, counts);
  yield* markDifferences(sides.from, sides.to);
  yield* slideChanges(sides.from, sides.to);
  yield* slideChanges(sides.to, sides.from);
  return editsIn(sides.from, sides.to);
}

function editsIn(from: Comparable, to: Comparable): readonly Edit[] {
  const edits: Edit[] = [];
  let [at, other] = [0, 0];
  while (at < from.lines.length || other < to.lines.length) {
    const edit = { from: changedAt(from, at), to: changedAt(to, other) };
    if (edit.from.end > at || edit.to.end > other) edits.push(edit);
    at = edit.from.end + 1;
    other = edit.to.end + 1;
  }
  return edits;
}

function changedAt({ changed }: Comparable, start: number): Span {
  let end = start;
  while (changed[end + 1] === 1) end++;
  return { start, end };
}
