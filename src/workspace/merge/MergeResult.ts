/** The lines of one version in a conflict. */
export interface ConflictSide {
  /** The number of the first line, counted from 1; if there are no lines, the number of the next line. */
  readonly line: number;
  /** The lines with their line breaks; empty when this version has no lines there. */
  readonly text: string;
}

/**
 * One conflict: the same place in each version. If the sides have lines in common within a change, they are between conflicts,
 * and `base` is the whole changed place in each of them.
 */
export type ConflictRegion = MergeVersions<ConflictSide>;

/** The result of a merge. */
export type MergeResult =
  | { readonly clean: true; readonly text: string }
  | {
      readonly clean: false;
      /** With `<<<<<<<`, `=======` and `>>>>>>>` around each conflict. For binary content: ours, without markers. */
      readonly text: string;
      /** At least one, in the order of the text. For binary content: one, for the whole content. */
      readonly regions: readonly ConflictRegion[];
      /** True when a version contains a NUL character, so that it cannot be merged by lines. */
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

/** Consecutive lines of one version: from `start` to before `end`, counted from 0. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
