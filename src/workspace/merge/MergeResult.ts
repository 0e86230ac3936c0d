import type { MergeVersions } from "./MergeVersions.ts";

/** Lines of one version, where a merge has a conflict. */
export interface ConflictSide {
  /** The first of the lines in that version, counted from 1; where there are none, the line they would stand before. */
  readonly line: number;
  /** The lines with their line breaks; empty when this version has none there. */
  readonly text: string;
}

/** One conflict: the same place in each version. */
export type ConflictRegion = MergeVersions<ConflictSide>;

/** What a merge came to. */
export type MergeResult =
  | { readonly clean: true; readonly text: string }
  | {
      readonly clean: false;
      /** With `<<<<<<<`, `=======` and `>>>>>>>` around each conflict. For binary content ours, without any marker. */
      readonly text: string;
      /** At least one, in the order of the text. For binary content one, over the whole. */
      readonly regions: readonly ConflictRegion[];
      /** True when a version holds a NUL character, and so is no text that could be merged by lines. */
      readonly binary: boolean;
    };
