/** Writes values in the order of their capture, even if a serializer is slow. */
export class WriteOrder {
  readonly #last = new Map<string, Promise<void>>();

  /** Writes after the earlier writes of the thread. Synchronous if `settled` is `undefined` and none is pending. */
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
