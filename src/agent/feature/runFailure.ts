const runFailures = new WeakSet<object>();

/** Marks what a feature threw: it fails the run, whatever catches it. */
export function markRunFailure(error: unknown): void {
  if (typeof error === "object" && error !== null) runFailures.add(error);
}

/** Whether an error fails the run whatever catches it, as that of a feature does. */
export function isRunFailure(error: unknown): boolean {
  return runFailures.has(Object(error) as object);
}
