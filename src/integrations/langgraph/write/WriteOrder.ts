/** Lets what is captured first be written first, where a serializer takes its time. */
export class WriteOrder {
  readonly #last = new Map<string, Promise<void>>();

  /** Writes at once, or after what waits for its values in the same thread. @param settled `undefined`: at once. */
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
