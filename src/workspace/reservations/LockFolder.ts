import { join } from "node:path";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { randomId } from "../../internal/randomId.ts";
import type { Disk } from "../../node/Disk.ts";
import { decodeLock, encodeLock } from "./lockJson.ts";
import type { LockState } from "./LockState.ts";

/** The content of a free file. */
const noBytes = Buffer.from("{}");

/** A state and its generation. */
export interface Generation {
  /** 0 when the file was never reserved. */
  readonly number: number;
  readonly state: LockState;
}

/**
 * The lock files. The state of a path is the file with its highest generation, and every change is a new file. When two
 * processes make the same generation, `link` lets one win. The highest generation is never removed: otherwise a process
 * that slept since it listed the folder could make that number again, from an outdated state. The next read shows which
 * change won.
 */
export class LockFolder {
  readonly #disk: Disk;
  readonly #path: string;
  #made: Promise<void> | undefined;

  /** @param path the folder; created by the first write. */
  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /**
   * The state of a path. Its generation is the highest both before and after the read: a lower one may come from a slow
   * process that made it again after it was removed.
   */
  async read(path: string): Promise<Generation> {
    for (let number = await this.#highest(path); ;) {
      const bytes = number === 0 ? noBytes : await this.#disk.readFile(this.#file(path, number));
      const highest = await this.#highest(path);
      if (highest === number && bytes !== undefined) return { number, state: decodeLock(path, bytes.toString()) };
      number = highest;
    }
  }

  /** Writes the next generation, unless another process already has: read again to see which one won. */
  async write({ number }: Generation, next: LockState): Promise<void> {
    await (this.#made ??= this.#make());
    const temporary = `${this.#file(next.path, number + 1)}.${randomId()}.tmp`;
    const file = await this.#disk.create(temporary);
    try {
      // The name need not be durable: a reservation does not outlive the processes of the machine. The content must be
      // durable before the name, since an empty file looks like damage.
      await file?.store(Buffer.from(encodeLock(next)));
      await this.#disk.link(temporary, this.#file(next.path, number + 1));
    } catch (error) {
      // Another process made this generation and removed the temporary file.
      if ((await this.#disk.stat(temporary)) !== undefined) throw error;
    } finally {
      await file?.close();
      await this.#disk.unlink(temporary);
    }
  }

  /** Removes all generations of a path but the highest, and temporary files of killed processes. */
  async clean(path: string): Promise<void> {
    const names = await this.#names(path);
    const highest = highestOf(names);
    for (const name of names) if (numberOf(name) < highest) await this.#disk.unlink(join(this.#path, name));
  }

  /** 0 when there is none. */
  async #highest(path: string): Promise<number> {
    return highestOf(await this.#names(path));
  }

  async #names(path: string): Promise<readonly string[]> {
    const prefix = `${nodeSha256.hex(path)}.`;
    return ((await this.#disk.readdir(this.#path)) ?? []).filter((name) => name.startsWith(prefix));
  }

  #file(path: string, number: number): string {
    return join(this.#path, `${nodeSha256.hex(path)}.${number}.lock`);
  }

  async #make(): Promise<void> {
    try {
      await this.#disk.mkdir(join(this.#path, ".."));
      await this.#disk.mkdir(this.#path);
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
  }
}

/** Temporary files do not count. */
function highestOf(names: readonly string[]): number {
  return Math.max(0, ...names.filter((name) => name.endsWith(".lock")).map(numberOf));
}

/** The generation in a name, including that of a temporary file; 0 for any other name. */
function numberOf(name: string): number {
  return Number(/^[0-9a-f]{64}\.([1-9][0-9]{0,14})\.lock/.exec(name)?.[1] ?? 0);
}
