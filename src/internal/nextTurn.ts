/** The amount of work between two pauses, as bytes of JSON. Reading them takes a few milliseconds. */
const piece = 256 * 1024;

// Read once, because tests that replace the process timers would otherwise block every append.
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

  /** Call this after each part of the work, and await the result. Waits for the next turn after each piece. */
  after(bytes: number): Promise<void> | undefined {
    this.#left -= bytes;
    if (this.#left > 0) return undefined;
    this.#left = piece;
    return nextTurn();
  }
}
