const smallestChunk = 4 * 1024;
const largestChunk = 256 * 1024;

/**
 * Lines of one log as bytes in chunks. A text outside Latin-1 takes two bytes a character as a JavaScript string and a
 * separate array for each line costs a hundred more, so both would hold a log at a multiple of its size.
 */
export class EntryBytes {
  readonly #chunks: Uint8Array[] = [];
  readonly #chunkOf: number[] = [];
  readonly #startOf: number[] = [];
  readonly #endOf: number[] = [];
  readonly #positionOf: number[] = [];
  #used = 0;
  #total = 0;

  /** The number of lines. */
  get length(): number {
    return this.#positionOf.length;
  }

  push(position: number, line: Uint8Array): void {
    const last = this.#chunks.at(-1);
    if (last === undefined || last.length - this.#used < line.length) this.#grow(line.length);
    const start = this.#used;
    this.#chunks.at(-1)?.set(line, start);
    this.#used += line.length;
    this.#total += line.length;
    this.#chunkOf.push(this.#chunks.length - 1);
    this.#startOf.push(start);
    this.#endOf.push(this.#used);
    this.#positionOf.push(position);
  }

  /** The line at an index, not copied. */
  lineAt(index: number): Uint8Array {
    const chunk = this.#chunks[this.#chunkOf[index] ?? 0] ?? new Uint8Array();
    return chunk.subarray(this.#startOf[index], this.#endOf[index]);
  }

  positionAt(index: number): number {
    return this.#positionOf[index] ?? Number.POSITIVE_INFINITY;
  }

  /** The index of the first line whose position is higher than `position`. */
  indexAfter(position: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.positionAt(middle) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** A copy without some positions: the bytes of the rest are freed with this one. */
  without(positions: ReadonlySet<number>): EntryBytes {
    const kept = new EntryBytes();
    for (let index = 0; index < this.length; index++) {
      if (!positions.has(this.positionAt(index))) kept.push(this.positionAt(index), this.lineAt(index));
    }
    return kept;
  }

  #grow(needed: number): void {
    const size = Math.min(largestChunk, Math.max(smallestChunk, this.#total >> 1));
    this.#chunks.push(new Uint8Array(Math.max(size, needed)));
    this.#used = 0;
  }
}
