export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The first tenth of a run, and its last. */
export function ends(values: readonly number[]): {
  readonly start: readonly number[];
  readonly end: readonly number[];
} {
  const tenth = Math.max(1, Math.floor(values.length / 10));
  return { start: values.slice(0, tenth), end: values.slice(-tenth) };
}
