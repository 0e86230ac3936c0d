type Settled<Item> = IteratorResult<Item, undefined>;

/** An asynchronous queue with one reader. Items are dropped after the reader stops reading. */
export class EventQueue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #end: { readonly error?: { readonly reason: unknown } } | undefined;
  #wake: (() => void) | undefined;
  #isLeft = false;
  readonly #onLeave: () => void;

  /** @param onLeave - called when the reader stops reading before the end. */
  constructor(onLeave: () => void = () => {}) {
    this.#onLeave = onLeave;
  }

  push(item: Item): void {
    if (this.#end || this.#isLeft) return;
    this.#items.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#end ??= {};
    this.#wake?.();
  }

  /** Fails the queue. The reader receives earlier items first. */
  fail(reason: unknown): void {
    this.#end ??= { error: { reason } };
    this.#wake?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> {
    return { next: () => this.#next(), return: () => this.#leave() };
  }

  async #next(): Promise<Settled<Item>> {
    for (;;) {
      if (this.#items.length > 0) return { done: false, value: this.#items.shift() as Item };
      if (this.#end?.error) throw this.#end.error.reason;
      if (this.#end || this.#isLeft) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async #leave(): Promise<Settled<Item>> {
    if (!this.#isLeft && !this.#end) this.#onLeave();
    this.#isLeft = true;
    this.#items.length = 0;
    this.#wake?.();
    return { done: true, value: undefined };
  }
}
