import { join, resolve } from "node:path";
import { z } from "zod";
import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import { systemClock } from "../../internal/Clock.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { Pace } from "../../internal/nextTurn.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { Disk } from "../../nodejs/Disk.ts";
import { nodeFileSystem } from "../../nodejs/nodeFileSystem.ts";
import {
  type EntryPlace,
  isUpTo,
  lastNumber,
  type StreamEntry,
  type StreamPlace,
  type StreamStore,
  visibleEntries,
} from "./StreamStore.ts";

/** Options of {@link FileStreamStore}. */
export interface FileStreamStoreOptions {
  /** The directory of the streams, used only by this store. Defaults to `.agent-persistence/streams`. */
  readonly directory?: string | undefined;
}

const optionsSchema = strictOptions(() => ({ directory: nonEmptyString.optional() }));
const entryName = /^([0-9]+)-([0-9]+)-([0-9]+)\.json$/;
/** The work of opening a file, compared with reading bytes. */
const openedBytes = 4_096;

/** The name of the file of an entry during the write. A killed writer can leave such a file. */
const temporaryName = /^([0-9]+)-.*\.tmp$/;

interface NamedEntry extends EntryPlace {
  readonly name: string;
}

/**
 * Stores streams in files, for several processes on one machine. Each entry is one file, which appears with its whole
 * content. Files are not synced, because after a power failure the run repeats the model request.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export class FileStreamStore implements StreamStore {
  readonly #directory: string;
  readonly #disk = new Disk(nodeFileSystem, systemClock);

  constructor(options: FileStreamStoreOptions = {}) {
    checkSchema(optionsSchema, options, "options of the file stream store");
    this.#directory = resolve(options.directory ?? join(".agent-persistence", "streams"));
  }

  async append(streamId: string, entry: StreamEntry): Promise<void> {
    const folder = this.#folderOf(streamId);
    const temporary = join(folder, `${entry.writer}-${crypto.randomUUID()}.tmp`);
    const file =
      (await this.#disk.create(temporary).catch(() => undefined)) ?? (await this.#createIn(folder, temporary));
    try {
      try {
        await file.write(utf8(JSON.stringify(entry.chunks)));
      } finally {
        await file.close();
      }
      await this.#disk.rename(temporary, join(folder, `${entry.writer}-${entry.first}-${lastNumber(entry)}.json`));
    } catch (error) {
      await this.#disk.unlink(temporary).catch(() => undefined);
      throw error;
    }
  }

  async read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]> {
    const folder = this.#folderOf(streamId);
    const entries: StreamEntry[] = [];
    const pace = new Pace();
    for (const { name, writer, first } of visibleEntries(await this.#entriesIn(folder), after)) {
      const bytes = await this.#disk.readFile(join(folder, name));
      await pace.after(openedBytes + (bytes?.length ?? 0));
      // Another process has removed this entry and the entries before.
      if (!bytes) entries.length = 0;
      const chunks = bytes && chunksIn(bytes);
      if (chunks) entries.push({ writer, first, chunks });
    }
    return entries;
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    const folder = this.#folderOf(streamId);
    const entries = await this.#entriesIn(folder);
    const removed = upTo ? entries.filter((entry) => isUpTo(entry, upTo)) : entries;
    const ended = removed.toSorted((one, other) => one.writer - other.writer || one.first - other.first);
    for (const { name } of ended) await this.#disk.unlink(join(folder, name));
    for (const name of (await this.#disk.readdir(folder)) ?? []) {
      const [, writer] = temporaryName.exec(name) ?? [];
      const isOver = writer !== undefined && Number(writer) < (upTo?.writer ?? Infinity);
      if (isOver) await this.#disk.unlink(join(folder, name));
    }
    await this.#disk.rmdir(folder);
  }

  #folderOf(streamId: string): string {
    return join(this.#directory, nodeSha256.hex(streamId));
  }

  async #entriesIn(folder: string): Promise<readonly NamedEntry[]> {
    return ((await this.#disk.readdir(folder)) ?? []).flatMap((name) => {
      const [, writer, first, last] = (entryName.exec(name) ?? []).map(Number);
      if (writer === undefined || first === undefined || last === undefined || last < first) return [];
      return [{ name, writer, first, chunks: { length: last - first + 1 } }];
    });
  }

  async #createIn(folder: string, path: string) {
    await this.#disk.mkdirs(folder);
    const file = await this.#disk.create(path);
    if (!file) throw new TypeError(`The random name ${path} is in use.`);
    return file;
  }
}

const chunksSchema = z.array(z.string());

/** Returns `undefined` for an entry that a power failure has damaged. */
function chunksIn(bytes: Uint8Array): readonly string[] | undefined {
  return chunksSchema.safeParse(parsedJson(fromUtf8(bytes))).data;
}
