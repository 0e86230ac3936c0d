import { StorageError } from "../../../errors/storageErrors.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import type { Disk } from "../../../nodejs/Disk.ts";
import { compareText } from "../../summaries.ts";
import { type Mark, markNameOf, parseMark } from "./Mark.ts";
import { join } from "node:path";

export interface FoundMark extends Mark {
  readonly path: string;
}

/** The maximum number of marks in a directory before it is split. */
const mostMarks = 256;
/** The number of marks added to a directory before it is listed again. */
const marksAtOnce = 64;
/** The number of cached directories, because agents of a few priorities are often added alternately. */
const mostChosen = 8;
const mostAttempts = 8;
/** The maximum number of directories to search for a mark. Most marks are in the first directory. */
const mostFolders = 3;

interface Chosen {
  readonly lowest: string;
  readonly next: string | undefined;
  left: number;
}

const folderName = /^k((?:[0-9a-f]{2})*)$/;

/**
 * The marks of one status, in directories that are named after their lowest key. Concurrent processes may fill
 * directories unevenly, and a directory may contain keys that also fit into a later one.
 */
export class MarkFolder {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #synced: boolean;
  readonly #choosing = new Mutex();
  #chosen: readonly Chosen[] = [];

  /** @param synced - whether each new mark is synced. */
  constructor(disk: Disk, path: string, synced: boolean) {
    this.#disk = disk;
    this.#path = path;
    this.#synced = synced;
  }

  async add(mark: Mark): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        // Runs sequentially, because one mark may create a directory for the following marks.
        const folder = this.#folder(await this.#choosing.runExclusive(() => this.#choose(mark.key)));
        const file = await this.#disk.create(join(folder, markNameOf(mark)));
        await file?.close();
        if (this.#synced) await this.#disk.fsyncDir(folder);
        return;
      } catch (error) {
        this.#chosen = [];
        if (!isUnavailable(error) || attempt === mostAttempts) throw error;
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

  /** Yields marks by key, up to `upTo`. Reads directories lazily. */
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
    // If the directory cannot be removed now, the next read finds it again.
    if (names.length === 0 && !isLast) await this.#disk.rmdir(folder).catch(() => {});
    return names.flatMap((name) => {
      const mark = parseMark(name);
      return mark ? { ...mark, path: join(folder, name) } : [];
    });
  }

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

  /**
   * Whether a key starts a new directory. A key in the lower half of a full directory stays there. Otherwise each of
   * several descending keys would get a new directory.
   */
  async #isFull(lowest: string, key: string): Promise<boolean> {
    const names = (await this.#disk.readdir(this.#folder(lowest))) ?? [];
    const keys = names.map((name) => parseMark(name)?.key ?? "").sort();
    return keys.length >= mostMarks && key > (keys[keys.length >> 1] ?? "");
  }

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

export function isUnavailable(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "unavailable";
}
