import type { Steps } from "../files/Slice.ts";

/** A part of a comparison. It covers lines `left` to `right` of one text and `top` to `bottom` of the other text. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** If true, the search must find the shortest path through the box, at any cost. */
  readonly exact: boolean;
}

/** A point on the path through a box, and whether the paths before and after it must be the shortest. */
interface SplitPoint {
  readonly x: number;
  readonly y: number;
  readonly exactBefore: boolean;
  readonly exactAfter: boolean;
}

/** The number of consecutive equal lines that make a good split point. */
const longRun = 20;
/** From this cost on, the search accepts a good path and no longer looks for the shortest path. */
const patience = 256;
/** A path is good if its distance exceeds its cost multiplied by this factor. */
const worthwhile = 4;
const unreached = 0x7fffffff;
const diagonalsPerStep = 20_000;

/** Finds the points at which boxes are split. */
export class BoxSearch {
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  /** The furthest position on each diagonal, from the start and the end. `d` is stored at `d + #offset`. */
  readonly #forward: Int32Array;
  readonly #backward: Int32Array;
  readonly #offset: number;
  readonly #mostCost: number;
  #box: Box = { left: 0, right: 0, top: 0, bottom: 0, exact: false };
  #forwardLow = 0;
  #forwardHigh = 0;
  #backwardLow = 0;
  #backwardHigh = 0;
  #foundRun = false;

  /** @param limit The cost at which a search gives up, at least {@link patience}. */
  constructor(from: Int32Array, to: Int32Array, limit: number) {
    this.#from = from;
    this.#to = to;
    this.#offset = to.length + 1;
    const diagonals = from.length + to.length + 3;
    this.#forward = new Int32Array(diagonals);
    this.#backward = new Int32Array(diagonals);
    this.#mostCost = Math.max(limit, patience);
  }

  *split(box: Box): Steps<SplitPoint> {
    this.#begin(box);
    let diagonals = 0;
    for (let cost = 1; ; cost++) {
      this.#foundRun = false;
      const point = this.#stepForward() ?? this.#stepBackward() ?? this.#goodEnough(cost);
      if (point !== undefined) return point;
      diagonals += 2 * cost;
      if (diagonals < diagonalsPerStep) continue;
      diagonals = 0;
      yield;
    }
  }

  #begin(box: Box): void {
    this.#box = box;
    this.#forwardLow = this.#forwardHigh = box.left - box.top;
    this.#backwardLow = this.#backwardHigh = box.right - box.bottom;
    this.#forward[this.#forwardLow + this.#offset] = box.left;
    this.#backward[this.#backwardLow + this.#offset] = box.right;
  }

  /** Adds one diagonal on each side. At the border, removes one, because each step searches every second diagonal. */
  #widenForward(): void {
    const { left, right, top, bottom } = this.#box;
    if (this.#forwardLow > left - bottom) this.#forward[--this.#forwardLow - 1 + this.#offset] = -1;
    else this.#forwardLow++;
    if (this.#forwardHigh < right - top) this.#forward[++this.#forwardHigh + 1 + this.#offset] = -1;
    else this.#forwardHigh--;
  }

  #widenBackward(): void {
    const { left, right, top, bottom } = this.#box;
    if (this.#backwardLow > left - bottom) this.#backward[--this.#backwardLow - 1 + this.#offset] = unreached;
    else this.#backwardLow++;
    if (this.#backwardHigh < right - top) this.#backward[++this.#backwardHigh + 1 + this.#offset] = unreached;
    else this.#backwardHigh--;
  }

  get #isOdd(): boolean {
    const { left, right, top, bottom } = this.#box;
    return ((left - top - (right - bottom)) & 1) !== 0;
  }

  /** Searches one edit further from the start. Returns the point where this search meets the search from the end. */
  #stepForward(): SplitPoint | undefined {
    const { right, bottom } = this.#box;
    const [from, to, reached, offset] = [this.#from, this.#to, this.#forward, this.#offset];
    this.#widenForward();
    const [opposite, low] = [this.#backward, this.#forwardLow];
    const [meetLow, meetHigh] = this.#isOdd ? [this.#backwardLow, this.#backwardHigh] : [1, 0];
    let above = reached[this.#forwardHigh + 1 + offset]!;
    for (let diagonal = this.#forwardHigh; diagonal >= low; diagonal -= 2) {
      const below = reached[diagonal - 1 + offset]!;
      const start = below >= above ? below + 1 : above;
      above = below;
      let x = start;
      for (let y = start - diagonal; x < right && y < bottom && from[x] === to[y]; y++) x++;
      if (x - start > longRun) this.#foundRun = true;
      reached[diagonal + offset] = x;
      if (meetLow <= diagonal && diagonal <= meetHigh && opposite[diagonal + offset]! <= x)
        return meetingAt(x, diagonal);
    }
    return undefined;
  }

  /** Searches one edit further from the end. Returns the point where this search meets the search from the start. */
  #stepBackward(): SplitPoint | undefined {
    const { left, top } = this.#box;
    const [from, to, reached, offset] = [this.#from, this.#to, this.#backward, this.#offset];
    this.#widenBackward();
    const [opposite, low] = [this.#forward, this.#backwardLow];
    const [meetLow, meetHigh] = this.#isOdd ? [1, 0] : [this.#forwardLow, this.#forwardHigh];
    let above = reached[this.#backwardHigh + 1 + offset]!;
    for (let diagonal = this.#backwardHigh; diagonal >= low; diagonal -= 2) {
      const below = reached[diagonal - 1 + offset]!;
      const start = below < above ? below : above - 1;
      above = below;
      let x = start;
      for (let y = start - diagonal; x > left && y > top && from[x - 1] === to[y - 1]; y--) x--;
      if (start - x > longRun) this.#foundRun = true;
      reached[diagonal + offset] = x;
      if (meetLow <= diagonal && diagonal <= meetHigh && x <= opposite[diagonal + offset]!)
        return meetingAt(x, diagonal);
    }
    return undefined;
  }

  /** If the search has become too expensive, returns a point that may not be on the shortest path. */
  #goodEnough(cost: number): SplitPoint | undefined {
    if (this.#box.exact) return undefined;
    const promising =
      this.#foundRun && cost > patience ? (this.#bestForward(cost) ?? this.#bestBackward(cost)) : undefined;
    return promising ?? (cost >= this.#mostCost ? this.#furthest() : undefined);
  }

  /** Returns the point after a long run of equal lines furthest from the start, if it is worth its cost. */
  #bestForward(cost: number): SplitPoint | undefined {
    const { left, right, top, bottom } = this.#box;
    const middle = left - top;
    let [best, bestX, bestY] = [0, 0, 0];
    for (let diagonal = this.#forwardHigh; diagonal >= this.#forwardLow; diagonal -= 2) {
      const x = this.#forward[diagonal + this.#offset]!;
      const y = x - diagonal;
      const distance = x - left + (y - top) - Math.abs(diagonal - middle);
      if (distance <= worthwhile * cost || distance <= best) continue;
      if (x < left + longRun || x >= right || y < top + longRun || y >= bottom) continue;
      if (this.#hasRun(x - longRun, y - longRun)) [best, bestX, bestY] = [distance, x, y];
    }
    return best === 0 ? undefined : { x: bestX, y: bestY, exactBefore: true, exactAfter: false };
  }

  /** Returns the point before a long run of equal lines furthest from the end, if it is worth its cost. */
  #bestBackward(cost: number): SplitPoint | undefined {
    const { left, right, top, bottom } = this.#box;
    const middle = right - bottom;
    let [best, bestX, bestY] = [0, 0, 0];
    for (let diagonal = this.#backwardHigh; diagonal >= this.#backwardLow; diagonal -= 2) {
      const x = this.#backward[diagonal + this.#offset]!;
      const y = x - diagonal;
      const distance = right - x + (bottom - y) - Math.abs(diagonal - middle);
      if (distance <= worthwhile * cost || distance <= best) continue;
      if (x <= left || x > right - longRun || y <= top || y > bottom - longRun) continue;
      if (this.#hasRun(x, y)) [best, bestX, bestY] = [distance, x, y];
    }
    return best === 0 ? undefined : { x: bestX, y: bestY, exactBefore: false, exactAfter: true };
  }

  #hasRun(x: number, y: number): boolean {
    for (let at = 0; at < longRun; at++) if (this.#from[x + at] !== this.#to[y + at]) return false;
    return true;
  }

  /** Returns the furthest point of both searches when the cost reaches its limit. */
  #furthest(): SplitPoint {
    const { left, right, top, bottom } = this.#box;
    const [ahead, aheadX] = this.#furthestForward();
    const [behind, behindX] = this.#furthestBackward();
    if (right + bottom - behind < ahead - (left + top))
      return { x: aheadX, y: ahead - aheadX, exactBefore: true, exactAfter: false };
    return { x: behindX, y: behind - behindX, exactBefore: false, exactAfter: true };
  }

  #furthestForward(): readonly [sum: number, x: number] {
    let [best, bestX] = [-1, -1];
    for (let diagonal = this.#forwardHigh; diagonal >= this.#forwardLow; diagonal -= 2) {
      const x = Math.min(this.#forward[diagonal + this.#offset]!, this.#box.right, this.#box.bottom + diagonal);
      if (best < x + (x - diagonal)) [best, bestX] = [x + (x - diagonal), x];
    }
    return [best, bestX];
  }

  #furthestBackward(): readonly [sum: number, x: number] {
    let [best, bestX] = [unreached, unreached];
    for (let diagonal = this.#backwardHigh; diagonal >= this.#backwardLow; diagonal -= 2) {
      const x = Math.max(this.#backward[diagonal + this.#offset]!, this.#box.left, this.#box.top + diagonal);
      if (x + (x - diagonal) < best) [best, bestX] = [x + (x - diagonal), x];
    }
    return [best, bestX];
  }
}

function meetingAt(x: number, diagonal: number): SplitPoint {
  return { x, y: x - diagonal, exactBefore: true, exactAfter: true };
}
