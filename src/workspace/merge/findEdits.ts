import { type Comparable, comparableLines, roundedRoot, type LineCounts } from "./comparableLines.ts";
import type { Span } from "./MergeResult.ts";
import type { Steps } from "../files/Slice.ts";
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

/** Consecutive changed lines from `start` to before `end`. An empty group is between two unchanged lines. */
interface Group {
  start: number;
  end: number;
}

const groupsPerStep = 1_000;

/**
 * Moves groups of changed lines of `side` to the positions where git shows them. A group moves next to a change of the
 * `other` text if possible, and otherwise as far down as equal lines allow. Joins groups that meet.
 */
function* slideChanges(side: Comparable, other: Comparable): Steps<void> {
  const pair = new GroupPair(side, other);
  for (let count = 1; ; count++) {
    if (pair.group.end > pair.group.start) pair.settle();
    if (!pair.next()) return;
    if (count % groupsPerStep === 0) yield;
  }
}

/** A group of changed lines in one text, and the group in the other text that is between the same unchanged lines. */
class GroupPair {
  readonly group: Group;
  readonly #opposite: Group;
  readonly #side: Comparable;
  readonly #other: Comparable;

  constructor(side: Comparable, other: Comparable) {
    this.#side = side;
    this.#other = other;
    this.group = firstGroup(side);
    this.#opposite = firstGroup(other);
  }

  /** Moves to the groups after the next unchanged line. Returns false at the end. */
  next(): boolean {
    nextGroup(this.#other, this.#opposite);
    return nextGroup(this.#side, this.group);
  }

  /** Moves the group to its final position. */
  settle(): void {
    const { group } = this;
    for (;;) {
      const size = group.end - group.start;
      while (this.#slideUp());
      const highest = group.end;
      let meeting = this.#meetsOpposite() ? group.end : -1;
      while (this.#slideDown()) if (this.#meetsOpposite()) meeting = group.end;
      if (group.end - group.start !== size) continue;
      if (group.end !== highest && meeting !== -1) while (!this.#meetsOpposite() && this.#slideUp());
      return;
    }
  }

  #meetsOpposite(): boolean {
    return this.#opposite.end > this.#opposite.start;
  }

  #slideUp(): boolean {
    const { lines, changed } = this.#side;
    const { group } = this;
    if (group.start === 0 || lines[group.start - 1] !== lines[group.end - 1]) return false;
    changed[group.start--] = 1;
    changed[group.end--] = 0;
    while (changed[group.start] === 1) group.start--;
    previousGroup(this.#other, this.#opposite);
    return true;
  }

  #slideDown(): boolean {
    const { lines, changed } = this.#side;
    const { group } = this;
    if (group.end === lines.length || lines[group.start] !== lines[group.end]) return false;
    changed[++group.start] = 0;
    changed[++group.end] = 1;
    while (changed[group.end + 1] === 1) group.end++;
    nextGroup(this.#other, this.#opposite);
    return true;
  }
}

function firstGroup({ changed }: Comparable): Group {
  const group = { start: 0, end: 0 };
  while (changed[group.end + 1] === 1) group.end++;
  return group;
}

function nextGroup({ lines, changed }: Comparable, group: Group): boolean {
  if (group.end === lines.length) return false;
  group.start = group.end + 1;
  group.end = group.start;
  while (changed[group.end + 1] === 1) group.end++;
  return true;
}

function previousGroup({ changed }: Comparable, group: Group): void {
  if (group.start === 0) return;
  group.end = group.start - 1;
  group.start = group.end;
  while (changed[group.start] === 1) group.start--;
}
