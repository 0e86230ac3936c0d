/** A place in a stream: a writer, and the number of a chunk of this writer. */
export interface StreamPlace {
  /** The generation of the process that owns the agent. A later owner has a higher number. */
  readonly writer: number;
  /** The number of the chunk, from 1. The place before the first chunk of a writer has number 0. */
  readonly number: number;
}

/** Consecutive chunks of one writer, which are stored together. */
export interface StreamEntry {
  readonly writer: number;
  /** The number of the first chunk, from 1. */
  readonly first: number;
  /** At least one chunk. */
  readonly chunks: readonly string[];
}

/**
 * Stores the chunks of responses that models are writing. Chunks are temporary. If a chunk is lost, a client only waits
 * longer, because the log of the agent will contain the response. Only the entries of the newest writer are visible, so
 * an owner that was replaced cannot add to the stream of the new owner. Check an implementation with
 * `streamStoreConformance`.
 */
export interface StreamStore {
  /**
   * Stores an entry. Storing the same entry again has no effect. An entry may be ignored if its writer is not the
   * newest writer.
   *
   * @throws StorageError if the entry may be missing in the store.
   */
  append(streamId: string, entry: StreamEntry): Promise<void>;
  /**
   * Returns the entries of the newest writer with chunks after a place, in order. The first entry may begin before the
   * place. Returns all entries of the newest writer for a place of an earlier writer, and no entries for a place of a
   * later writer.
   *
   * @param after - defaults to the start.
   */
  read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]>;
  /**
   * Removes all entries of earlier writers, and each entry without chunks after a place.
   *
   * @param upTo - the place. Defaults to the end, which removes the whole stream.
   */
  remove(streamId: string, upTo?: StreamPlace): Promise<void>;
  /**
   * Calls back when the stream may have changed. If this method is missing, readers poll.
   *
   * @returns a function that ends the calls
   */
  watch?(streamId: string, onChange: () => void): () => void;
}

/** An entry whose chunks need not be read. */
export interface EntryPlace extends Omit<StreamEntry, "chunks"> {
  readonly chunks: { readonly length: number };
}

/** Returns the number of the last chunk of an entry. */
export function lastNumber({ first, chunks }: Pick<EntryPlace, "first" | "chunks">): number {
  return first + chunks.length - 1;
}

/** Whether all chunks of an entry are at or before a place, or belong to an earlier writer. */
export function isUpTo(entry: EntryPlace, { writer, number }: StreamPlace): boolean {
  return entry.writer < writer || (entry.writer === writer && lastNumber(entry) <= number);
}

/** Returns the entries that a reader at a place sees, from all entries in any order. */
export function visibleEntries<Entry extends EntryPlace>(
  entries: readonly Entry[],
  after: StreamPlace = { writer: 0, number: 0 },
): readonly Entry[] {
  const newest = entries.reduce((highest, { writer }) => Math.max(highest, writer), 0);
  return entries
    .filter((entry) => entry.writer === newest && !isUpTo(entry, after))
    .toSorted((one, other) => one.first - other.first);
}

/** A row of an entry in a database. Some drivers return numbers as texts. `chunks` is a JSON array. */
export interface StreamRow {
  readonly writer: string | number;
  readonly first: string | number;
  readonly chunks: string;
}

/** Returns the entries that a reader at a place sees, from rows in any order. */
export function visibleRows(rows: readonly StreamRow[], after: StreamPlace): readonly StreamEntry[] {
  const entries = rows.map(({ writer, first, chunks }) => ({
    writer: Number(writer),
    first: Number(first),
    chunks: JSON.parse(chunks) as string[],
  }));
  return visibleEntries(entries, after);
}

/** Readers in this process, by stream. */
class StreamReaders {
  readonly #readers = new Map<string, Set<() => void>>();

  /** @returns a function that ends the calls */
  add(streamId: string, onChange: () => void): () => void {
    const readers = this.#readers.get(streamId) ?? new Set();
    const reader = () => onChange();
    this.#readers.set(streamId, readers.add(reader));
    return () => {
      readers.delete(reader);
      if (readers.size === 0 && this.#readers.get(streamId) === readers) this.#readers.delete(streamId);
    };
  }

  wake(streamId: string): void {
    for (const wake of this.#readers.get(streamId) ?? []) wake();
  }
}

/**
 * The readers in this process of streams in any store. Writers wake these readers, because most stores notify no
 * reader.
 */
export const localReaders = new StreamReaders();

/** Stores streams in the memory of this process, for tests and single processes. */
export class InMemoryStreamStore implements StreamStore {
  readonly #streams = new Map<string, readonly StreamEntry[]>();
  readonly #readers = new StreamReaders();

  async append(streamId: string, { writer, first, chunks }: StreamEntry): Promise<void> {
    const entries = this.#streams.get(streamId) ?? [];
    if (entries.some((entry) => entry.writer === writer && entry.first === first)) return;
    this.#set(streamId, [...entries, { writer, first, chunks: [...chunks] }]);
  }

  async read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]> {
    return visibleEntries(this.#streams.get(streamId) ?? [], after);
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    this.#set(streamId, upTo ? (this.#streams.get(streamId) ?? []).filter((entry) => !isUpTo(entry, upTo)) : []);
  }

  watch(streamId: string, onChange: () => void): () => void {
    return this.#readers.add(streamId, onChange);
  }

  #set(streamId: string, entries: readonly StreamEntry[]): void {
    if (entries.length > 0) this.#streams.set(streamId, entries);
    else this.#streams.delete(streamId);
    this.#readers.wake(streamId);
  }
}
