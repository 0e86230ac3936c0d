import { StorageError } from "../../../errors/storageErrors.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import type { Disk } from "../../../nodejs/Disk.ts";
import { compareText } from "../../summaries.ts";
import { join } from "node:path";
import type { AgentSummary } from "../../RecordLog.ts";

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
 * The marks of one status, in directories named after their lowest key. If several processes add marks at the same time,
 * some directories can get more marks than others.
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

export interface Mark {
  /** Sorts like the original text, which is the agent's `order` or due time. */
  readonly key: string;
  readonly folder: string;
  readonly position: number;
  /** The generation that appended the summary, or 0 for a rebuilt mark. Unique together with the position. */
  readonly generation: number;
}

/** The maximum number of hex digits of a key, so that file names fit into 255 bytes. */
const keyDigits = 120;
const characterDigits = 8;
const markName = /^k((?:[0-9a-f]{2})*)\.([a-z0-9-]{1,65})\.(\d{1,15})\.(\d{1,15})$/;
const plainStatus = /^[a-z_]{1,40}$/;

/** The directory for the marks of due agents. It differs from the directory names of all statuses. */
export const dueFolder = "+due";
export const droppedFolder = "+dropped";

/** Returns the UTF-8 of a text in hex. A long text is truncated after a complete character. */
export function sortKey(text: string): string {
  let key = "";
  for (const character of text) {
    const digits = Buffer.from(character).toString("hex");
    if (key.length + digits.length > keyDigits) break;
    key += digits;
  }
  return key;
}

/** Returns the original text of a key. For a key that may be truncated, returns a unique text in its place. */
export function textOfKey(key: string, agentId: string): string {
  const text = Buffer.from(key, "hex").toString();
  return key.length + characterDigits > keyDigits ? `${text}\0${agentId}` : text;
}

function markNameOf({ key, folder, position, generation }: Mark): string {
  return `k${key}.${folder}.${position}.${generation}`;
}

/** Parses a file name. Returns `undefined` for other files in the folder. Lists ignore them. */
function parseMark(name: string): Mark | undefined {
  const [, key, folder, position, generation] = markName.exec(name) ?? [];
  if (key === undefined || folder === undefined) return undefined;
  return { key, folder, position: Number(position), generation: Number(generation) };
}

export function statusMark(folder: string, { order, position }: AgentSummary, generation: number): Mark {
  return { key: sortKey(order), folder, position, generation };
}

export function dueMark(folder: string, { dueAt, position }: AgentSummary, generation: number): Mark | undefined {
  return dueAt === undefined ? undefined : { key: dueKey(dueAt), folder, position, generation };
}

/** Returns a key that sorts by time. An invalid time sorts first, so every list finds it. */
export function dueKey(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? "" : sortKey(new Date(Math.max(0, ms)).toISOString().padStart(27, "+"));
}

/** Returns the directory name of a status. A status with special characters is encoded. */
export function statusFolder(status: string): string {
  return plainStatus.test(status) ? status : `-${sortKey(status)}`;
}
