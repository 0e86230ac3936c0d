export class PutsInFlight {
  readonly #threads = new Map<string, Set<Promise<unknown>>>();

  async track<Result>(threadId: string, put: Promise<Result>): Promise<Result> {
    const puts = this.#threads.get(threadId) ?? new Set();
    this.#threads.set(threadId, puts.add(put));
    try {
      return await put;
    } finally {
      puts.delete(put);
      if (puts.size === 0) this.#threads.delete(threadId);
    }
  }

  /** Resolves when the current writes of a thread have settled. `undefined` if the thread has none. */
  of(threadId: string): Promise<unknown> | undefined {
    const puts = this.#threads.get(threadId);
    return puts && Promise.allSettled(puts);
  }
}
