/** The same part of each of the three merged versions. */
export interface MergeVersions<Part> {
  /** The last common version. */
  readonly base: Part;
  readonly ours: Part;
  readonly theirs: Part;
}

/** Applies a function to each version. */
export function eachVersion<Part, Result>(
  { base, ours, theirs }: MergeVersions<Part>,
  change: (part: Part) => Result,
): MergeVersions<Result> {
  return { base: change(base), ours: change(ours), theirs: change(theirs) };
}
