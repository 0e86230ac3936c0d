/** The number of bytes of JSON that are processed between two pauses. This takes a few milliseconds. */
const piece = 256 * 1024;

// Read once, because tests that replace the timers of the process would block every append.
const { setImmediate: immediate, setTimeout: timeout } = globalThis as {
  readonly setImmediate?: (callback: () => void) => void;
  readonly setTimeout: (callback: () => void, ms: number) => void;
};

/** Resolves in the next turn of the event loop, after all ready callbacks. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate) immediate(resolve);
    else timeout(resolve, 0);
  });
}

export class Pace {
  #left = piece;

  /** Counts processed bytes, and returns a promise if it is time for a pause. Await the result. */
  after(bytes: number): Promise<void> | undefined {
    this.#left -= bytes;
    if (this.#left > 0) return undefined;
    this.#left = piece;
    return nextTurn();
  }
}
