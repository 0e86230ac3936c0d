/** The pixel positions of rows with known heights, used to find the visible rows. */
export class RowOffsets {
  readonly #tops: Float64Array;

  constructor(heights: readonly number[]) {
    this.#tops = new Float64Array(heights.length + 1);
    heights.forEach((height, index) => {
      this.#tops[index + 1] = (this.#tops[index] ?? 0) + height;
    });
  }

  get total(): number {
    return this.#tops.at(-1) ?? 0;
  }

  /** Returns the top of a row. The index after the last row returns the total height. */
  topOf(index: number): number {
    return this.#tops[Math.max(0, Math.min(index, this.#tops.length - 1))] ?? 0;
  }

  heightOf(index: number): number {
    return this.topOf(index + 1) - this.topOf(index);
  }

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

  /** Returns the first and the last visible row, with some more on both sides. */
  within(top: number, height: number, more = 6): readonly [first: number, last: number] {
    const last = this.#tops.length - 2;
    return [Math.max(0, this.rowAt(top) - more), Math.min(last, this.rowAt(top + height) + more)];
  }
}
