import { isUpTo, type StreamEntry, type StreamPlace, type StreamStore, visibleEntries } from "./StreamStore.ts";

/** Stores streams in the memory of this process, for tests and single processes. */
export class InMemoryStreamStore implements StreamStore {
  readonly #streams = new Map<string, readonly StreamEntry[]>();
  readonly #watchers = new Map<string, Set<() => void>>();

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
    const watchers = this.#watchers.get(streamId) ?? new Set();
    const watcher = () => onChange();
    this.#watchers.set(streamId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(streamId) === watchers) this.#watchers.delete(streamId);
    };
  }

  #set(streamId: string, entries: readonly StreamEntry[]): void {
    if (entries.length > 0) this.#streams.set(streamId, entries);
    else this.#streams.delete(streamId);
    for (const wake of this.#watchers.get(streamId) ?? []) wake();
  }
}
