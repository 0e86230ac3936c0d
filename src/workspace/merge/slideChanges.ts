import type { Comparable } from "./comparableLines.ts";
import type { Steps } from "./Steps.ts";

/** Consecutive changed lines from `start` to before `end`. An empty group is between two unchanged lines. */
interface Group {
  start: number;
  end: number;
}

const groupsPerStep = 1_000;

/**
 * Moves groups of changed lines to the positions where git shows them, if equal lines allow the move. A group moves
 * next to a change of the other text. If there is none, it moves down as far as possible. Groups that meet are joined.
 *
 * @param side The text whose groups move.
 * @param other The text to compare with.
 */
export function* slideChanges(side: Comparable, other: Comparable): Steps<void> {
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

  /** Moves on to the groups after the next unchanged line. Returns false at the end. */
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
