import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import {
  type Chunk,
  type ConflictRegion,
  type ConflictSide,
  eachVersion,
  type MergeResult,
  type MergeVersions,
  type Span,
} from "./MergeResult.ts";
import { mergeSpans } from "./mergeSpans.ts";

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

type Lines = MergeVersions<readonly string[]>;

/** The names beside the conflict markers. */
export interface MergeLabels {
  readonly ours: string;
  readonly theirs: string;
}

export function renderChunks(lines: Lines, chunks: readonly Chunk[], labels: MergeLabels): MergeResult {
  const lineBreak = markerEnding(lines);
  const regions: ConflictRegion[] = [];
  const parts = chunks.map((chunk) => {
    if (chunk.take !== undefined) return textOf(lines[chunk.take], chunk.span);
    const region = regionOf(lines, chunk.spans);
    regions.push(region);
    return [
      `<<<<<<< ${labels.ours}${lineBreak}`,
      ended(region.ours.text, lineBreak),
      `=======${lineBreak}`,
      ended(region.theirs.text, lineBreak),
      `>>>>>>> ${labels.theirs}${lineBreak}`,
    ].join("");
  });
  const text = parts.join("");
  return regions.length === 0 ? { clean: true, text } : { clean: false, text, regions, binary: false };
}

function regionOf(lines: Lines, spans: MergeVersions<Span>): ConflictRegion {
  const side = (version: keyof Lines): ConflictSide => ({
    line: spans[version].start + 1,
    text: textOf(lines[version], spans[version]),
  });
  return { base: side("base"), ours: side("ours"), theirs: side("theirs") };
}

function textOf(lines: readonly string[], { start, end }: Span): string {
  return lines.slice(start, end).join("");
}

/** Puts the next marker on its own line, also after a last line without a line break. */
function ended(text: string, lineBreak: string): string {
  return text === "" || text.endsWith("\n") ? text : text + lineBreak;
}

/** As in git, markers end with "\\r\\n" only when the first line of each version does. */
function markerEnding({ base, ours, theirs }: Lines): string {
  const first = [base[0], ours[0], theirs[0]].filter((line) => line?.endsWith("\n"));
  return first.length > 0 && first.every((line) => line?.endsWith("\r\n")) ? "\r\n" : "\n";
}

type LineEnding = "\n" | "\r\n";

/** Merges texts without their line endings, and gives the result the line endings of the side that changed them. */
export function withMergedLineEndings(
  versions: MergeVersions<string>,
  mergeLines: (versions: MergeVersions<string>) => MergeResult,
): MergeResult {
  const { base, ours, theirs } = eachVersion(versions, lineEndingOf);
  if (base === "mixed" || ours === "mixed" || theirs === "mixed") return mergeLines(versions);
  const ending = (ours === base ? (theirs ?? ours) : (ours ?? theirs)) ?? "\n";
  const restore = (text: string): string => text.replaceAll("\n", ending);
  const result = mergeLines(eachVersion(versions, (text) => text.replaceAll("\r\n", "\n")));
  if (result.clean) return { clean: true, text: restore(result.text) };
  const regions = result.regions.map((region) =>
    eachVersion(region, ({ line, text }) => ({ line, text: restore(text) })),
  );
  return { ...result, text: restore(result.text), regions };
}

/** `undefined` for a text without a line break. */
function lineEndingOf(text: string): LineEnding | "mixed" | undefined {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  if (all === 0) return undefined;
  if (windows === 0) return "\n";
  return windows === all ? "\r\n" : "mixed";
}
