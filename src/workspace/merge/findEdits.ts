import { type Comparable, comparableLines, roundedRoot, type LineCounts } from "./comparableLines.ts";
import type { Span } from "./MergeResult.ts";
import { slideChanges } from "./slideChanges.ts";
import type { Steps } from "./Steps.ts";
import { BoxSearch, type Box } from "./BoxSearch.ts";

/** Consecutive lines of one text and their replacement in the other. One of the spans may be empty. */
export interface Edit {
  readonly from: Span;
  readonly to: Span;
}

/**
 * Finds the ordered edits between two lists of numbered lines. The edits and their positions equal the edits of git's
 * default algorithm. If lines repeat, the positions decide whether a merge is clean.
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

/**
 * Marks the compared lines that differ. Implements the linear-space version of E. W. Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986). The algorithm splits a comparison at a point of the shortest path and then
 * compares both halves.
 */
function* markDifferences(from: Comparable, to: Comparable): Steps<void> {
  const search = new BoxSearch(from.compared, to.compared, roundedRoot(from.compared.length + to.compared.length + 3));
  const whole = { left: 0, right: from.compared.length, top: 0, bottom: to.compared.length, exact: false };
  const boxes: Box[] = [whole];
  for (let box = boxes.pop(); box !== undefined; box = boxes.pop()) {
    const inner = shrunk(box, from.compared, to.compared);
    if (inner.left === inner.right) mark(to, inner.top, inner.bottom);
    else if (inner.top === inner.bottom) mark(from, inner.left, inner.right);
    else {
      const { x, y, exactBefore, exactAfter } = yield* search.split(inner);
      boxes.push(
        { ...inner, left: x, top: y, exact: exactAfter },
        { ...inner, right: x, bottom: y, exact: exactBefore },
      );
    }
  }
}

/** Removes equal lines from the start and the end of a box. */
function shrunk({ left, right, top, bottom, exact }: Box, from: Int32Array, to: Int32Array): Box {
  while (left < right && top < bottom && from[left] === to[top]) {
    left++;
    top++;
  }
  while (left < right && top < bottom && from[right - 1] === to[bottom - 1]) {
    right--;
    bottom--;
  }
  return { left, right, top, bottom, exact };
}

function mark({ changed, places }: Comparable, start: number, end: number): void {
  for (let at = start; at < end; at++) changed[places[at]! + 1] = 1;
}
