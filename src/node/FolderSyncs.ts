/** Syncs of folders. Those that are asked for while one is running share the next one, which begins after all of them. */
export class FolderSyncs {
  readonly #begin: (path: string) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  /** @param begin begins to sync a folder. */
  constructor(begin: (path: string) => Promise<void>) {
    this.#begin = begin;
  }

  /** Resolves once a sync has ended that began after this call. */
  sync(path: string): Promise<void> {
    const running = this.#running.get(path);
    if (!running) return this.#run(path);
    const next = this.#next.get(path) ?? running.catch(() => {}).then(() => this.#runNext(path));
    this.#next.set(path, next);
    return next;
  }

  #runNext(path: string): Promise<void> {
    this.#next.delete(path);
    return this.#run(path);
  }

  #run(path: string): Promise<void> {
    const running = this.#begin(path).finally(() => this.#running.delete(path));
    this.#running.set(path, running);
    return running;
  }
}
