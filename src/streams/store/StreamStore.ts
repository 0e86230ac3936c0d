/** A place in a stream: a writer, and the number of one of its chunks. */
export interface StreamPlace {
  /** The generation of the process that owns the agent. A later owner has a higher number. */
  readonly writer: number;
  /** The number of the chunk, from 1. 0 is the place before the first chunk of the writer. */
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
 * Stores the chunks of responses that models are writing. Chunks are temporary: a lost one costs a client a delay, and
 * the response itself is in the log of its agent.
 *
 * Only the entries of the newest writer are visible. An earlier owner that does not know of its successor therefore
 * never adds to the stream of the successor. Check an implementation with `streamStoreConformance`.
 */
export interface StreamStore {
  /**
   * Stores an entry. Storing the same entry again has no effect. An entry of an earlier writer than the newest one may
   * be ignored.
   *
   * @throws StorageError if the entry was possibly not stored.
   */
  append(streamId: string, entry: StreamEntry): Promise<void>;
  /**
   * Returns the entries of the newest writer with chunks after a place, in order. The first one may begin before the
   * place. All of them if the place belongs to an earlier writer, and no entry if it belongs to a later one.
   *
   * @param after - defaults to the start.
   */
  read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]>;
  /**
   * Removes all entries of earlier writers, and each entry without chunks after a place.
   *
   * @param upTo - defaults to the end of the stream. Then the whole stream is removed.
   */
  remove(streamId: string, upTo?: StreamPlace): Promise<void>;
  /** Calls back when the stream possibly changed. Without it, readers poll. @returns a function that ends the calls */
  watch?(streamId: string, onChange: () => void): () => void;
}

/** Returns the number of the last chunk of an entry. */
export function lastNumber({ first, chunks }: Pick<StreamEntry, "first" | "chunks">): number {
  return first + chunks.length - 1;
}

/** Whether all chunks of an entry are at or before a place, or belong to an earlier writer. */
export function isUpTo(entry: StreamEntry, { writer, number }: StreamPlace): boolean {
  return entry.writer < writer || (entry.writer === writer && lastNumber(entry) <= number);
}

/** Returns the entries that a reader at a place sees, from all entries in any order. */
export function visibleEntries(
  entries: readonly StreamEntry[],
  after: StreamPlace = { writer: 0, number: 0 },
): readonly StreamEntry[] {
  const newest = entries.reduce((highest, { writer }) => Math.max(highest, writer), 0);
  return entries
    .filter((entry) => entry.writer === newest && !isUpTo(entry, after))
    .toSorted((one, other) => one.first - other.first);
}
