import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { MergeResult } from "./MergeResult.ts";
import { mergeSpans } from "./mergeSpans.ts";
import { type MergeLabels, renderChunks } from "./renderChunks.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";
import { withMergedLineEndings } from "./withMergedLineEndings.ts";

/** How to merge. */
export interface MergeOptions {
  /** The names beside the conflict markers. Default: OURS and THEIRS. */
  readonly labels?: MergeLabels | undefined;
  /**
   * `exact`: lines with different line endings are different lines, as in git. `merge`: merges the line endings separately
   * from the lines, so that a side with rewritten line endings does not conflict; a file with mixed line endings is still
   * merged exactly. Default: `exact`.
   */
  readonly lineEndings?: "exact" | "merge" | undefined;
}

const mergeSchema = z.object({
  base: z.string(),
  ours: z.string(),
  theirs: z.string(),
  options: strictOptions({
    labels: strictOptions({ ours: z.string(), theirs: z.string() }).optional(),
    lineEndings: z.enum(["exact", "merge"]).optional(),
  }),
});

/**
 * Merges two changed versions of a text by lines. It is clean only where `git merge-file` is clean, with the same text; a
 * few clean merges of git are conflicts here (docs/workspace.md has the numbers). It is fast for any input: changes that
 * would take too long to compare are one conflict. Line endings, a byte-order mark and a missing final line break stay.
 *
 * @throws InvalidInputError for arguments that are not text or have unknown options.
 */
export function mergeThreeWay(base: string, ours: string, theirs: string, options: MergeOptions = {}): MergeResult {
  const versions = { base, ours, theirs };
  checkSchema(mergeSchema, { ...versions, options }, "merge");
  if (ours === theirs || theirs === base) return { clean: true, text: ours };
  if (ours === base) return { clean: true, text: theirs };
  if (`${base}${ours}${theirs}`.includes("\0")) return binaryConflict(versions);
  const labels = options.labels ?? { ours: "OURS", theirs: "THEIRS" };
  const mergeLines = (texts: MergeVersions<string>): MergeResult => mergeByLines(texts, labels);
  return options.lineEndings === "merge" ? withMergedLineEndings(versions, mergeLines) : mergeLines(versions);
}

function mergeByLines(versions: MergeVersions<string>, labels: MergeLabels): MergeResult {
  const lines = eachVersion(versions, splitLines);
  const numbers = new Map<string, number>();
  const numbered = eachVersion(lines, (texts) => texts.map((text) => numberOf(text, numbers)));
  return renderChunks(lines, mergeSpans(numbered), labels);
}

/** Equal lines get equal numbers, which compare fast and cannot be mistaken for property names. */
function numberOf(line: string, numbers: Map<string, number>): number {
  const known = numbers.get(line);
  if (known !== undefined) return known;
  numbers.set(line, numbers.size);
  return numbers.size - 1;
}

function binaryConflict(versions: MergeVersions<string>): MergeResult {
  const region = eachVersion(versions, (text) => ({ line: 1, text }));
  return { clean: false, text: versions.ours, regions: [region], binary: true };
}

/**
 * The lines of a text, each with its line break; the last one may have none. Only "\n" ends a line, so "\r\n" and "\n"
 * make different lines, as in git.
 */
function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length;) {
    const lineBreak = text.indexOf("\n", start);
    const end = lineBreak < 0 ? text.length : lineBreak + 1;
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}
