/** The lines of one version in a conflict. */
export interface ConflictSide {
  /** The number of the first line, counted from 1. If `text` is empty, the number of the next line. */
  readonly line: number;
  /** The lines with their line breaks. Empty if this version has no lines in the conflict. */
  readonly text: string;
}

/**
 * One conflict: the same region of each version. If both sides share lines, the conflict is split at these lines. In
 * this case, each part has the region of the whole conflict as `base`.
 */
export type ConflictRegion = MergeVersions<ConflictSide>;

/** The result of a merge. */
export type MergeResult =
  | { readonly clean: true; readonly text: string }
  | {
      readonly clean: false;
      /** The text with `<<<<<<<`, `=======` and `>>>>>>>` around each conflict, or `ours` for binary content. */
      readonly text: string;
      /** At least one conflict, in the order of the text. Binary content has one conflict for the whole content. */
      readonly regions: readonly ConflictRegion[];
      /** True if a version contains a NUL character. Such content is not merged by lines. */
      readonly binary: boolean;
    };

/** The same part of each of the three merged versions. */
export interface MergeVersions<Part> {
  /** The last common version. */
  readonly base: Part;
  readonly ours: Part;
  readonly theirs: Part;
}

export function eachVersion<Part, Result>(
  { base, ours, theirs }: MergeVersions<Part>,
  change: (part: Part) => Result,
): MergeVersions<Result> {
  return { base: change(base), ours: change(ours), theirs: change(theirs) };
}

/** Consecutive lines of one version, from `start` to before `end`. Lines are counted from 0. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
