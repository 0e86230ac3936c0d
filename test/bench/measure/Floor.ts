import { open, type FileHandle } from "node:fs/promises";

/**
 * The least that durability can cost: an awaited write of the same bytes and an awaited `fdatasync` on a file that is
 * already open. It is measured in the process of whoever is compared with it, one write between any two of its saves,
 * because a disk's speed changes from minute to minute.
 */
export class Floor {
  readonly times: number[] = [];
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async at(path: string): Promise<Floor> {
    return new Floor(await open(path, "a"));
  }

  async write(line: string): Promise<void> {
    const bytes = Buffer.from(line);
    const start = performance.now();
    await this.#file.write(bytes);
    await this.#file.datasync();
    this.times.push(performance.now() - start);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
