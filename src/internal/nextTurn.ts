// Taken once: tests that replace the timers of the process would otherwise stop every append.
const { setImmediate: immediate, setTimeout: timeout } = globalThis as {
  readonly setImmediate?: (callback: () => void) => void;
  readonly setTimeout: (callback: () => void, ms: number) => void;
};

/** Resolves in the next turn of the event loop, after everything that is ready now has run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate) immediate(resolve);
    else timeout(resolve, 0);
  });
}
