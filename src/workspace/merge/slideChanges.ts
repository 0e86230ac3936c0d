import type { Comparable } from "./comparableLines.ts";
import type { Steps } from "./Steps.ts";

/** Changed lines in a row: from `start` to before `end`. An empty one stands between two unchanged lines. */
interface Group {
  start: number;
  end: number;
}

const groupsPerStep = 1_000;

/**
 * Moves changed lines, where equal lines allow it, to where git shows them: beside a change of the other text if there is
 * one, else as far down as possible. Groups that meet become one.
 *
 * @param side the text whose changes are moved. @param other the one that it is compared with.
 */
export function* slideChanges(side: Comparable, other: Comparable): Steps<void> {
  const pair = new GroupPair(side, other);
  for (let count = 1; ; count++) {
    if (pair.group.end > pair.group.start) pair.settle();
    if (!pair.next()) return;
    if (count % groupsPerStep === 0) yield;
  }
}

/** A group of one text, and the group at the same unchanged lines of the other. */
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

  /** Goes on to the groups after the next unchanged line; false at the end. */
  next(): boolean {
    nextGroup(this.#other, this.#opposite);
    return nextGroup(this.#side, this.group);
  }

  /** Moves the group to its place. */
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
