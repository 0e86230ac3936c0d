/** The same kind of thing of each of the three versions that are merged. */
export interface MergeVersions<Part> {
  /** What both come from. */
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
