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

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A point on the path through a box, and whether the paths before and after it must be the shortest. */
interface SplitPoint extends Point {
  readonly exactBefore: boolean;
  readonly exactAfter: boolean;
}

/** The number of consecutive equal lines that make a good split point. */
const longRun = 20;
/** From this cost on, the search accepts a good path and no longer looks for the shortest path. */
const patience = 256;
/** A path is good if its distance exceeds its cost multiplied by this factor. */
const worthwhile = 4;
const unreached = -1;
const diagonalsPerStep = 20_000;

/** Finds the points at which boxes are split, by a search from the start and a search from the end of a box. */
export class BoxSearch {
  readonly #forward: Frontier;
  /** Searches the reversed texts, so its points are counted from the ends of the texts. */
  readonly #backward: Frontier;
  readonly #lengths: readonly [from: number, to: number];
  readonly #mostCost: number;

  /** @param limit The cost at which a search gives up, at least {@link patience}. */
  constructor(from: Int32Array, to: Int32Array, limit: number) {
    this.#forward = new Frontier(from, to, -1);
    this.#backward = new Frontier(from.toReversed(), to.toReversed(), 1);
    this.#lengths = [from.length, to.length];
    this.#mostCost = Math.max(limit, patience);
  }

  *split(box: Box): Steps<SplitPoint> {
    const [forward, backward] = [this.#forward, this.#backward];
    const [width, height] = this.#lengths;
    const { left, right, top, bottom } = box;
    forward.begin(box);
    backward.begin({ ...box, left: width - right, right: width - left, top: height - bottom, bottom: height - top });
    const isOdd = ((left - top - (right - bottom)) & 1) !== 0;
    let diagonals = 0;
    for (let cost = 1; ; cost++) {
      const met = forward.step(backward, isOdd) ?? this.#fromEnd(backward.step(forward, !isOdd));
      if (met) return { ...met, exactBefore: true, exactAfter: true };
      const good = box.exact ? undefined : this.#goodEnough(cost);
      if (good) return good;
      diagonals += 2 * cost;
      if (diagonals < diagonalsPerStep) continue;
      diagonals = 0;
      yield;
    }
  }

  /** Converts a point of the reversed texts. */
  #fromEnd(point: Point | undefined): Point | undefined {
    const [width, height] = this.#lengths;
    return point && { x: width - point.x, y: height - point.y };
  }

  /** If the search has become too expensive, returns a point that may not be on the shortest path. */
  #goodEnough(cost: number): SplitPoint | undefined {
    const [forward, backward] = [this.#forward, this.#backward];
    if (cost > patience && (forward.foundRun || backward.foundRun)) {
      const ahead = forward.best(cost);
      const good = splitAt(ahead, ahead ? undefined : this.#fromEnd(backward.best(cost)));
      if (good) return good;
    }
    if (cost < this.#mostCost) return undefined;
    const [ahead, behind] = [forward.furthest(), backward.furthest()];
    return splitAt(behind.distance < ahead.distance ? ahead : undefined, this.#fromEnd(behind));
  }
}

/** Splits the box at `ahead`, a point of the search from the start. Without it, splits at `behind`, from the end. */
function splitAt(ahead: Point | undefined, behind: Point | undefined): SplitPoint | undefined {
  if (ahead) return { x: ahead.x, y: ahead.y, exactBefore: true, exactAfter: false };
  return behind && { ...behind, exactBefore: false, exactAfter: true };
}

/** The furthest points that a search has reached from the left top corner of a box. */
class Frontier {
  /** Whether the last step followed a long run of equal lines. */
  foundRun = false;
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  /** The furthest position on each diagonal. `d` is stored at `d + #offset`. */
  readonly #reached: Int32Array;
  readonly #offset: number;
  readonly #order: 1 | -1;
  #box: Box = { left: 0, right: 0, top: 0, bottom: 0, exact: false };
  #low = 0;
  #high = 0;

  /** @param order 1 to visit the diagonals upwards, -1 to visit them downwards. The first of equal points counts. */
  constructor(from: Int32Array, to: Int32Array, order: 1 | -1) {
    this.#from = from;
    this.#to = to;
    this.#order = order;
    this.#offset = to.length + 1;
    this.#reached = new Int32Array(from.length + to.length + 3);
  }

  begin(box: Box): void {
    this.#box = box;
    this.#low = this.#high = box.left - box.top;
    this.#reached[this.#low + this.#offset] = box.left;
  }

  /** Searches one edit further. If `meets`, returns the point where this search meets the search from the other end. */
  step(other: Frontier, meets: boolean): Point | undefined {
    this.#widen();
    this.foundRun = false;
    const { right, bottom } = this.#box;
    const [from, to, reached, offset] = [this.#from, this.#to, this.#reached, this.#offset];
    const [opposite, width, lastDiagonal] = [other.#reached, from.length, from.length - to.length];
    const meetLow = meets ? lastDiagonal - other.#high : 1;
    const meetHigh = meets ? lastDiagonal - other.#low : 0;
    const step = 2 * this.#order;
    let diagonal = this.#first;
    for (let count = this.#count; count > 0; count--, diagonal += step) {
      const below = reached[diagonal - 1 + offset]!;
      const above = reached[diagonal + 1 + offset]!;
      const start = below >= above ? below + 1 : above;
      let x = start;
      for (let y = start - diagonal; x < right && y < bottom && from[x] === to[y]; y++) x++;
      if (x - start > longRun) this.foundRun = true;
      reached[diagonal + offset] = x;
      if (meetLow <= diagonal && diagonal <= meetHigh && opposite[lastDiagonal - diagonal + offset]! + x >= width)
        return { x, y: x - diagonal };
    }
    return undefined;
  }

  /** Adds one diagonal on each side. At the border, removes one, because each step searches every second diagonal. */
  #widen(): void {
    const { left, right, top, bottom } = this.#box;
    if (this.#low > left - bottom) this.#reached[--this.#low - 1 + this.#offset] = unreached;
    else this.#low++;
    if (this.#high < right - top) this.#reached[++this.#high + 1 + this.#offset] = unreached;
    else this.#high--;
  }

  get #first(): number {
    return this.#order > 0 ? this.#low : this.#high;
  }

  /** The number of diagonals that the last step visited. */
  get #count(): number {
    return (this.#high - this.#low) / 2 + 1;
  }

  /** Returns the point after a long run of equal lines furthest from the start, if it is worth its cost. */
  best(cost: number): Point | undefined {
    const { left, right, top, bottom } = this.#box;
    let [best, bestX, bestY] = [0, 0, 0];
    let diagonal = this.#first;
    for (let count = this.#count; count > 0; count--, diagonal += 2 * this.#order) {
      const x = this.#reached[diagonal + this.#offset]!;
      const y = x - diagonal;
      const distance = x - left + (y - top) - Math.abs(diagonal - (left - top));
      if (distance <= worthwhile * cost || distance <= best) continue;
      if (x < left + longRun || x >= right || y < top + longRun || y >= bottom) continue;
      if (this.#hasRun(x - longRun, y - longRun)) [best, bestX, bestY] = [distance, x, y];
    }
    return best === 0 ? undefined : { x: bestX, y: bestY };
  }

  #hasRun(x: number, y: number): boolean {
    for (let at = 0; at < longRun; at++) if (this.#from[x + at] !== this.#to[y + at]) return false;
    return true;
  }

  /** Returns the point furthest from the start within the box, with its distance. */
  furthest(): Point & { readonly distance: number } {
    const { left, right, top, bottom } = this.#box;
    let [best, bestX] = [-1, -1];
    let diagonal = this.#first;
    for (let count = this.#count; count > 0; count--, diagonal += 2 * this.#order) {
      const x = Math.min(this.#reached[diagonal + this.#offset]!, right, bottom + diagonal);
      if (best < x + (x - diagonal)) [best, bestX] = [x + (x - diagonal), x];
    }
    return { x: bestX, y: best - bestX, distance: best - left - top };
  }
}
