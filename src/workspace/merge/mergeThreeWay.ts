import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { MergeResult } from "./MergeResult.ts";
import { mergeSpans } from "./mergeSpans.ts";
import { type MergeLabels, renderChunks } from "./renderChunks.ts";
import { splitLines } from "./splitLines.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";
import { withMergedLineEndings } from "./withMergedLineEndings.ts";

/** How to merge. */
export interface MergeOptions {
  /** What stands beside the markers of a conflict. Default: OURS and THEIRS. */
  readonly labels?: MergeLabels | undefined;
  /**
   * `exact` (default) takes lines with different line endings for different lines, as git does. `merge` merges the line
   * endings of the three as one more thing that each side may have changed, and the lines apart from them: a side that
   * was rewritten with other line endings is then no conflict. A file with mixed line endings is merged exactly.
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
 * A three-way merge of texts by lines, what each side changed since `base`. Clean where `git merge-file` is clean, with
 * the same text; a few of its clean merges are conflicts here (docs/workspace.md counts them). Takes no longer than a
 * moment for any input: changes that cannot be told apart in time are one conflict. Text is kept as it is to the
 * character: line endings, a byte-order mark, a missing line break at the end. Changes nothing outside.
 *
 * @throws InvalidInputError for what is no text; for texts it never throws.
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

/** One number for each line, so that comparing lines takes no time, and no line is taken for the name of a property. */
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
