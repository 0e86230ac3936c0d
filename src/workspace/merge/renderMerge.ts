import type { Change } from "./combineEdits.ts";
import type { ConflictRegion, MergeResult } from "./MergeResult.ts";
import { type NumberedLines, type NumberedVersions, textOfLines } from "./NumberedLines.ts";

/** The names after the conflict markers. */
export interface MergeLabels {
  readonly ours: string;
  readonly theirs: string;
}

/** Builds the merged text from `ours`, the changes of `theirs`, and conflicts with markers. */
export function renderMerge(versions: NumberedVersions, changes: readonly Change[], labels: MergeLabels): MergeResult {
  const { ours, theirs } = versions;
  const regions: ConflictRegion[] = [];
  const parts: string[] = [];
  let written = 0;
  for (const { take, spans } of changes) {
    if (take === "ours") continue;
    parts.push(textOfLines(ours, { start: written, end: spans.ours.start }));
    written = spans.ours.end;
    if (take === "theirs") parts.push(textOfLines(theirs, spans.theirs));
    else {
      const region = regionOf(versions, spans);
      regions.push(region);
      parts.push(marked(region, labels, lineBreakFor(versions, spans)));
    }
  }
  const text = parts.join("") + textOfLines(ours, { start: written, end: ours.numbers.length });
  return regions.length === 0 ? { clean: true, text } : { clean: false, text, regions, binary: false };
}

function regionOf(versions: NumberedVersions, spans: Change["spans"]): ConflictRegion {
  const side = (version: "base" | "ours" | "theirs") => ({
    line: spans[version].start + 1,
    text: textOfLines(versions[version], spans[version]),
  });
  return { base: side("base"), ours: side("ours"), theirs: side("theirs") };
}

function marked({ ours, theirs }: ConflictRegion, labels: MergeLabels, lineBreak: string): string {
  return [
    `<<<<<<< ${labels.ours}${lineBreak}`,
    ended(ours.text, lineBreak),
    `=======${lineBreak}`,
    ended(theirs.text, lineBreak),
    `>>>>>>> ${labels.theirs}${lineBreak}`,
  ].join("");
}

/** Adds a line break to a last line without one, because a marker follows. */
function ended(text: string, lineBreak: string): string {
  return text === "" || text.endsWith("\n") ? text : text + lineBreak;
}

/** Returns the line break of a marker: "\r\n" if the lines before it and the first base line end with it, as in git. */
function lineBreakFor({ base, ours, theirs }: NumberedVersions, spans: Change["spans"]): string {
  const before = ({ start }: { readonly start: number }): number => Math.max(start - 1, 0);
  for (const [lines, at] of [
    [ours, before(spans.ours)],
    [theirs, before(spans.theirs)],
  ] as const)
    if (lineBreakOf(lines, at) === "\n") return "\n";
  return lineBreakOf(base, 0) ?? "\n";
}

/** Returns the line break of a line or, if the last line has none, of the line before it. */
function lineBreakOf({ text, starts, numbers }: NumberedLines, at: number): "\n" | "\r\n" | undefined {
  if (numbers.length === 0) return undefined;
  const end = starts[at + 1] ?? text.length;
  if (text[end - 1] === "\n") return text[end - 2] === "\r" && end - 2 >= starts[at]! ? "\r\n" : "\n";
  if (at === 0) return undefined;
  return lineBreakOf({ text, starts, numbers }, at - 1);
}
