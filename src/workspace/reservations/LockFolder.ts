import { join } from "node:path";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { randomId } from "../../internal/randomId.ts";
import type { Disk } from "../../node/Disk.ts";
import { decodeLock, encodeLock } from "./lockJson.ts";
import type { LockState } from "./LockState.ts";

/** A free file. */
const noBytes = Buffer.from("{}");

/** A state with its number. */
export interface Generation {
  /** 0 when the file was never reserved. */
  readonly number: number;
  readonly state: LockState;
}

/**
 * The lock files: the state of a path is the file of its highest generation, and every change is a new file. Of two who
 * make the same generation `link` lets one win. The highest is never removed: who slept since its listing could else
 * make that number anew, over a state that is long gone. What a change came to is what the next reading shows.
 */
export class LockFolder {
  readonly #disk: Disk;
  readonly #path: string;
  #made: Promise<void> | undefined;

  /** @param path of the folder; made when it is first written to. */
  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /**
   * The state of a path. Its generation is the highest before and after it is read: a lower one may be a late one's, who
   * made it again after it was removed.
   */
  async read(path: string): Promise<Generation> {
    for (let number = await this.#highest(path); ;) {
      const bytes = number === 0 ? noBytes : await this.#disk.readFile(this.#file(path, number));
      const highest = await this.#highest(path);
      if (highest === number && bytes !== undefined) return { number, state: decodeLock(path, bytes.toString()) };
      number = highest;
    }
  }

  /** Makes the next generation, unless another one has: read again to see what became of it. */
  async write({ number }: Generation, next: LockState): Promise<void> {
    await (this.#made ??= this.#make());
    const temporary = `${this.#file(next.path, number + 1)}.${randomId()}.tmp`;
    const file = await this.#disk.create(temporary);
    try {
      // The name need not be on the device: a reservation does not outlive the machine's processes. Its content must be
      // when the name is, since an empty file could not be told from damage.
      await file?.store(Buffer.from(encodeLock(next)));
      await this.#disk.link(temporary, this.#file(next.path, number + 1));
    } catch (error) {
      // Somebody took it for left behind: its number was made meanwhile.
      if ((await this.#disk.stat(temporary)) !== undefined) throw error;
    } finally {
      await file?.close();
      await this.#disk.unlink(temporary);
    }
  }

  /** Removes all generations of a path but the highest, and what a process that was killed had not yet made one. */
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

/** What is not yet a lock file does not count. */
function highestOf(names: readonly string[]): number {
  return Math.max(0, ...names.filter((name) => name.endsWith(".lock")).map(numberOf));
}

/** The generation in a name, also in that of a file that is not yet a lock file; 0 for a name that is none of ours. */
function numberOf(name: string): number {
  return Number(/^[0-9a-f]{64}\.([1-9][0-9]{0,14})\.lock/.exec(name)?.[1] ?? 0);
}
