import { type Comparable, roundedRoot } from "./comparableLines.ts";
import { BoxSearch, type Box } from "./BoxSearch.ts";
import type { Steps } from "./Steps.ts";

/**
 * Marks the compared lines that differ. Implements the linear-space version of E. W. Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986). It splits a comparison at a point of the shortest path and then compares both
 * halves.
 */
export function* markDifferences(from: Comparable, to: Comparable): Steps<void> {
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
