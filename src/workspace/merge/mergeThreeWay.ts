import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { combineEdits, type Change, joined } from "./combineEdits.ts";
import { findEdits } from "./findEdits.ts";
import { emptyCounts, type LineCounts } from "./comparableLines.ts";
import { eachVersion, type MergeResult, type MergeVersions, type Span } from "./MergeResult.ts";
import { numberLines, type NumberedVersions, textOfLines } from "./NumberedLines.ts";
import { type MergeLabels, renderMerge } from "./renderMerge.ts";
import { inTurns, type Steps } from "../files/Slice.ts";

/** Options of {@link mergeThreeWay}. */
export interface MergeOptions {
  /** The names after the conflict markers. Defaults to `OURS` and `THEIRS`. */
  readonly labels?: MergeLabels | undefined;
  /**
   * `exact` compares lines with their line endings, as git does. `merge` merges line endings separately, so a side that
   * only rewrote line endings does not conflict. Files with mixed line endings are always merged exactly. Defaults to
   * `exact`.
   */
  readonly lineEndings?: "exact" | "merge" | undefined;
}

const mergeSchema = z.object({
  base: z.string(),
  ours: z.string(),
  theirs: z.string(),
  options: strictOptions(() => ({
    labels: strictOptions(() => ({ ours: z.string(), theirs: z.string() })).optional(),
    lineEndings: z.enum(["exact", "merge"]).optional(),
  })),
});

/**
 * Merges two changed versions of a text by lines. The result equals the result of `git merge-file`, including
 * conflicts. Keeps line endings, a byte-order mark and a missing final line break. Gives other work of the process a
 * turn during a long merge.
 *
 * @example
 * ```ts
 * const result = await mergeThreeWay("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n");
 * if (result.clean) console.log(result.text); // "A\nb\nC\n"
 * else for (const { ours, theirs } of result.regions) console.log(ours.line, ours.text, theirs.text);
 * ```
 *
 * @throws InvalidInputError if an argument is not text or an option is unknown.
 */
export async function mergeThreeWay(
  base: string,
  ours: string,
  theirs: string,
  options: MergeOptions = {},
): Promise<MergeResult> {
  const versions = { base, ours, theirs };
  checkSchema(mergeSchema, { ...versions, options }, "merge");
  if (ours === theirs || theirs === base) return { clean: true, text: ours };
  if (ours === base) return { clean: true, text: theirs };
  if ([base, ours, theirs].some((text) => text.includes("\0"))) return binaryConflict(versions);
  const labels = options.labels ?? { ours: "OURS", theirs: "THEIRS" };
  const mergeLines = (texts: MergeVersions<string>): Promise<MergeResult> => inTurns(mergeInSteps(texts, labels));
  return options.lineEndings === "merge" ? withMergedLineEndings(versions, mergeLines) : mergeLines(versions);
}

/** Merges distinct texts by lines, in steps of a few milliseconds. */
export function* mergeInSteps(texts: MergeVersions<string>, labels: MergeLabels): Steps<MergeResult> {
  const versions = yield* numberLines(texts);
  const counts = emptyCounts(versions.different);
  const lines = eachVersion(versions, ({ numbers }) => numbers);
  const ours = yield* findEdits(lines.base, lines.ours, counts);
  const theirs = yield* findEdits(lines.base, lines.theirs, counts);
  yield;
  const changes = yield* refineConflicts(versions, combineEdits(lines, { ours, theirs }), counts);
  yield;
  return renderMerge(versions, changes, labels);
}

function binaryConflict(versions: MergeVersions<string>): MergeResult {
  const region = eachVersion(versions, (text) => ({ line: 1, text }));
  return { clean: false, text: versions.ours, regions: [region], binary: true };
}

type LineEnding = "\n" | "\r\n";

/** Merges texts without their line endings. The result has the line endings of the side that changed them. */
async function withMergedLineEndings(
  versions: MergeVersions<string>,
  mergeLines: (versions: MergeVersions<string>) => Promise<MergeResult>,
): Promise<MergeResult> {
  const { base, ours, theirs } = eachVersion(versions, lineEndingOf);
  if (base === "mixed" || ours === "mixed" || theirs === "mixed") return mergeLines(versions);
  const ending = (ours === base ? (theirs ?? ours) : (ours ?? theirs)) ?? "\n";
  const restore = (text: string): string => text.replaceAll("\n", ending);
  const result = await mergeLines(eachVersion(versions, (text) => text.replaceAll("\r\n", "\n")));
  if (result.clean) return { clean: true, text: restore(result.text) };
  const regions = result.regions.map((region) =>
    eachVersion(region, ({ line, text }) => ({ line, text: restore(text) })),
  );
  return { ...result, text: restore(result.text), regions };
}

/** Returns `undefined` for a text without a line break. */
function lineEndingOf(text: string): LineEnding | "mixed" | undefined {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  if (all === 0) return undefined;
  if (windows === 0) return "\n";
  return windows === all ? "\r\n" : "mixed";
}

/** The largest number of lines between two conflicts that become one conflict. */
const fewLines = 3;

/** Removes shared lines from the conflicts, drops empty conflicts, and joins conflicts that are close together. */
function* refineConflicts(
  versions: NumberedVersions,
  changes: readonly Change[],
  counts: LineCounts,
): Steps<readonly Change[]> {
  const refined: Change[] = [];
  for (const change of changes) {
    const parts = yield* partsOf(versions, change, counts);
    for (const part of parts) appendPart(versions, refined, part);
  }
  return refined;
}

function* partsOf(versions: NumberedVersions, change: Change, counts: LineCounts): Steps<readonly Change[]> {
  const { base, ours, theirs } = change.spans;
  if (change.take !== undefined || ours.start === ours.end || theirs.start === theirs.end) return [change];
  const linesOf = (version: keyof MergeVersions<unknown>): Int32Array =>
    versions[version].numbers.subarray(change.spans[version].start, change.spans[version].end);
  const edits = yield* findEdits(linesOf("ours"), linesOf("theirs"), counts);
  return edits.map(({ from, to }) => ({
    take: undefined,
    spans: { base, ours: moved(from, ours.start), theirs: moved(to, theirs.start) },
  }));
}

function moved({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by };
}

function appendPart({ ours }: NumberedVersions, parts: Change[], part: Change): void {
  const last = parts.at(-1);
  if (last?.take === undefined && last !== undefined && part.take === undefined) {
    const between = { start: last.spans.ours.end, end: part.spans.ours.start };
    if (between.end - between.start <= fewLines || !/[a-zA-Z0-9]/.test(textOfLines(ours, between))) {
      parts[parts.length - 1] = { take: undefined, spans: joined(last.spans, part.spans) };
      return;
    }
  }
  parts.push(part);
}
