/** Writes values in the order in which they were captured, even if a serializer is slow. */
export class WriteOrder {
  readonly #last = new Map<string, Promise<void>>();

  /** Writes after the earlier writes of the thread. Starts at once if none is pending and `settled` is `undefined`. */
  async write<Result>(
    thread: string,
    settled: Promise<unknown> | undefined,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(thread);
    if (!before && !settled) return write();
    const ready = Promise.all([before, settled]).then(() => {});
    const passed = ready.catch(() => {});
    this.#last.set(thread, passed);
    try {
      await ready;
      return await write();
    } finally {
      if (this.#last.get(thread) === passed) this.#last.delete(thread);
    }
  }
}

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

  /** Resolves when the current writes of a thread have ended. `undefined` if the thread has none. */
  of(threadId: string): Promise<unknown> | undefined {
    const puts = this.#threads.get(threadId);
    return puts && Promise.allSettled(puts);
  }
}
