/** Resolves in the next turn of the event loop, after everything that is ready now has run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { setImmediate } = globalThis as { readonly setImmediate?: (callback: () => void) => void };
    if (setImmediate) setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
