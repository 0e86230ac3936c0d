/** Where rows of known heights are, in pixels from the top: answers which of them are to be seen. */
export class RowOffsets {
  readonly #tops: Float64Array;

  constructor(heights: readonly number[]) {
    this.#tops = new Float64Array(heights.length + 1);
    heights.forEach((height, index) => {
      this.#tops[index + 1] = (this.#tops[index] ?? 0) + height;
    });
  }

  /** The height of all rows together. */
  get total(): number {
    return this.#tops.at(-1) ?? 0;
  }

  /** The top of a row; of the row after the last, the height of all. */
  topOf(index: number): number {
    return this.#tops[Math.max(0, Math.min(index, this.#tops.length - 1))] ?? 0;
  }

  heightOf(index: number): number {
    return this.topOf(index + 1) - this.topOf(index);
  }

  /** The row at a height; the nearest one for a height outside. */
  rowAt(y: number): number {
    let low = 0;
    let high = Math.max(0, this.#tops.length - 2);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.topOf(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The first and the last row of a window, with some more on both sides. */
  within(top: number, height: number, more = 6): readonly [first: number, last: number] {
    const last = this.#tops.length - 2;
    return [Math.max(0, this.rowAt(top) - more), Math.min(last, this.rowAt(top + height) + more)];
  }
}
