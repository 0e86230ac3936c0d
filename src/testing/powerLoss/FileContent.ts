const staleByte = 0x78;

export class FileContent {
  #bytes = new Uint8Array(0);
  #size = 0;
  /** Whether a copy shares the bytes. The next write copies them. */
  #isShared = false;

  get size(): number {
    return this.#size;
  }

  read(start = 0, length = this.#size): Uint8Array {
    return this.#bytes.slice(start, Math.min(this.#size, start + length));
  }

  /** Applies the part of a write that survived a crash. Fills gaps before it with zeros. */
  write(offset: number, bytes: Uint8Array, fate: WriteOutcome): void {
    if (fate === "lost") return;
    if (fate !== "kept") return this.#writeTorn(offset, bytes, fate);
    this.#grow(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  copy(): FileContent {
    const copy = new FileContent();
    copy.#bytes = this.#bytes;
    copy.#size = this.#size;
    copy.#isShared = true;
    this.#isShared = true;
    return copy;
  }

  #writeTorn(offset: number, bytes: Uint8Array, { kept, fill }: Tear): void {
    const end = offset + bytes.length;
    for (const [index, isKept] of kept.entries()) {
      const sector = (Math.floor(offset / sectorSize) + index) * sectorSize;
      const [from, to] = [Math.max(offset, sector), Math.min(end, sector + sectorSize)];
      if (isKept || fill !== "nothing") this.#grow(to);
      if (isKept) this.#bytes.set(bytes.subarray(from - offset, to - offset), from);
      else if (fill === "stale") this.#bytes.fill(staleByte, from, to);
    }
  }

  #grow(size: number): void {
    if (this.#isShared || size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, this.#size * 2));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
      this.#isShared = false;
    }
    this.#size = Math.max(this.#size, size);
  }
}

/** The unit of a device write, in bytes. */
export const sectorSize = 512;

/** The content of sectors that did not reach the device: zeros, older data, or the end of the file. */
export type Fill = "zeros" | "stale" | "nothing";

/** The sectors of a write that reached the device. */
export interface Tear {
  readonly kept: readonly boolean[];
  readonly fill: Fill;
}

/** The effect of a crash on a mutation that was not durable. */
export type WriteOutcome = "kept" | "lost" | Tear;

export function sectorsOf(offset: number, length: number): number {
  return length === 0 ? 0 : Math.floor((offset + length - 1) / sectorSize) - Math.floor(offset / sectorSize) + 1;
}
