import { StorageError } from "../../../errors/storage/StorageError.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import type { Disk } from "../../../node/Disk.ts";
import { compareText } from "../../selectSummaries.ts";
import { type Mark, markNameOf, parseMark } from "./Mark.ts";
import { join } from "node:path";

/** A mark and the file that it is. */
export interface FoundMark extends Mark {
  readonly path: string;
}

/** How many marks a folder has before another begins. */
const mostMarks = 256;
/** How many marks go into a folder before it is looked at again. */
const marksAtOnce = 64;
/** How many folders are remembered: agents of a few priorities are added in turn. */
const mostChosen = 8;
/** How often a folder is chosen again because another process removed it. */
const mostAttempts = 8;
/** In how many folders a mark is looked for: nearly always it is in the first. */
const mostFolders = 3;

/** A folder that marks were put into, and what goes there. */
interface Chosen {
  readonly lowest: string;
  /** The lowest key of the next folder; `undefined`: it was the last. */
  readonly next: string | undefined;
  /** How many more marks go into it before it is looked at again. */
  left: number;
}

const folderName = /^k((?:[0-9a-f]{2})*)$/;

/**
 * The marks of one status, in folders that are each named after the lowest key that goes into it. Processes that put marks
 * at the same time may fill folders unevenly, and a folder may have keys that would fit into a later one.
 */
export class MarkFolder {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #synced: boolean;
  readonly #choosing = new Mutex();
  #chosen: readonly Chosen[] = [];

  /** @param synced true where a mark must be on the device before it counts. */
  constructor(disk: Disk, path: string, synced: boolean) {
    this.#disk = disk;
    this.#path = path;
    this.#synced = synced;
  }

  async add(mark: Mark): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        // One after another: a mark may make a folder for those after it.
        const folder = this.#folder(await this.#choosing.runExclusive(() => this.#choose(mark.key)));
        const file = await this.#disk.create(join(folder, markNameOf(mark)));
        await file?.close();
        if (this.#synced) await this.#disk.fsyncDir(folder);
        return;
      } catch (error) {
        this.#chosen = [];
        if (!isMissing(error) || attempt === mostAttempts) throw error;
      }
    }
  }

  async remove(mark: Mark): Promise<void> {
    const below = (await this.#lowestKeys()).filter((lowest) => lowest <= mark.key);
    for (const lowest of below.slice(-mostFolders).reverse()) {
      const path = join(this.#folder(lowest), markNameOf(mark));
      if ((await this.#disk.stat(path)) === undefined) continue;
      await this.#disk.unlink(path);
      return;
    }
  }

  /** By key, up to one; folders are read as they are needed. */
  async *read(upTo?: string): AsyncGenerator<FoundMark> {
    const all = await this.#lowestKeys();
    const folders = all.filter((lowest) => upTo === undefined || lowest <= upTo);
    let found: readonly FoundMark[] = [];
    for (const [index, lowest] of folders.entries()) {
      const isLast = index === all.length - 1;
      found = [...found, ...(await this.#marksIn(lowest, isLast))].sort((a, b) => compareText(a.key, b.key));
      const next = folders[index + 1];
      const waiting = next === undefined ? [] : found.filter(({ key }) => key >= next);
      for (const mark of found.slice(0, found.length - waiting.length))
        if (upTo === undefined || mark.key <= upTo) yield mark;
      found = waiting;
    }
  }

  async #marksIn(lowest: string, isLast: boolean): Promise<readonly FoundMark[]> {
    const folder = this.#folder(lowest);
    const names = (await this.#disk.readdir(folder)) ?? [];
    // What cannot be removed is read again next time.
    if (names.length === 0 && !isLast) await this.#disk.rmdir(folder).catch(() => {});
    return names.flatMap((name) => {
      const mark = parseMark(name);
      return mark ? { ...mark, path: join(folder, name) } : [];
    });
  }

  /** The lowest key of the folder that a mark goes into, which exists then. */
  async #choose(key: string): Promise<string> {
    const known = this.#chosen.find((each) => isWithin(key, each));
    if (known && known.left-- > 0) return known.lowest;
    const all = await this.#lowestKeys();
    const found = all.findLast((lowest) => lowest <= key);
    const lowest = found === undefined || (await this.#isFull(found, key)) ? await this.#make(found, key) : found;
    const others = this.#chosen.filter((each) => !isWithin(lowest, each));
    this.#chosen = [...others, { lowest, next: all.find((each) => each > key), left: marksAtOnce }].slice(-mostChosen);
    return lowest;
  }

  /** Whether a key begins a folder of its own: not one of the lower half, else falling keys would have a folder each. */
  async #isFull(lowest: string, key: string): Promise<boolean> {
    const names = (await this.#disk.readdir(this.#folder(lowest))) ?? [];
    const keys = names.map((name) => parseMark(name)?.key ?? "").sort();
    return keys.length >= mostMarks && key > (keys[keys.length >> 1] ?? "");
  }

  /** @param found absent: the first folder, which takes every key. */
  async #make(found: string | undefined, key: string): Promise<string> {
    const lowest = found === undefined ? "" : key;
    for (const path of [this.#path, this.#folder(lowest)]) {
      await this.#disk.mkdir(path);
      if (this.#synced) await this.#disk.fsyncDir(join(path, ".."));
    }
    return lowest;
  }

  async #lowestKeys(): Promise<readonly string[]> {
    const names = (await this.#disk.readdir(this.#path)) ?? [];
    return names.flatMap((name) => folderName.exec(name)?.[1] ?? []).sort();
  }

  #folder(lowest: string): string {
    return join(this.#path, `k${lowest}`);
  }
}

function isWithin(key: string, { lowest, next }: Chosen): boolean {
  return lowest <= key && (next === undefined || key < next);
}

/** Whether a call failed because a folder was not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "unavailable";
}
