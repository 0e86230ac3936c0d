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
