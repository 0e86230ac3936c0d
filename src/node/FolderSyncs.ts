/** Syncs of directories. Requests during a running sync share the next sync, which starts after all of them. */
export class FolderSyncs {
  readonly #begin: (path: string) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  constructor(begin: (path: string) => Promise<void>) {
    this.#begin = begin;
  }

  /** Resolves after a sync that started after this call. */
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
