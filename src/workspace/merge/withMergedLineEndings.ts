import type { MergeResult } from "./MergeResult.ts";
import { eachVersion, type MergeVersions } from "./MergeVersions.ts";

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
