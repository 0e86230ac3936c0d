const runFailures = new WeakSet<object>();

/** Marks an error of a feature. It fails the run even if node code catches it. */
export function markRunFailure(error: unknown): void {
  if (typeof error === "object" && error !== null) runFailures.add(error);
}

export function isRunFailure(error: unknown): boolean {
  return runFailures.has(Object(error) as object);
}
