import type { Change } from "./combineEdits.ts";
import type { ConflictRegion, MergeResult } from "./MergeResult.ts";
import { type NumberedLines, type NumberedVersions, textOf } from "./NumberedLines.ts";

/** The names beside the conflict markers. */
export interface MergeLabels {
  readonly ours: string;
  readonly theirs: string;
}

/** The merged text: ours, with what is taken from theirs and with markers around conflicts. */
export function renderMerge(versions: NumberedVersions, changes: readonly Change[], labels: MergeLabels): MergeResult {
  const { ours, theirs } = versions;
  const regions: ConflictRegion[] = [];
  const parts: string[] = [];
  let written = 0;
  for (const { take, spans } of changes) {
    if (take === "ours") continue;
    parts.push(textOf(ours, { start: written, end: spans.ours.start }));
    written = spans.ours.end;
    if (take === "theirs") parts.push(textOf(theirs, spans.theirs));
    else {
      const region = regionOf(versions, spans);
      regions.push(region);
      parts.push(marked(region, labels, lineBreakFor(versions, spans)));
    }
  }
  const text = parts.join("") + textOf(ours, { start: written, end: ours.numbers.length });
  return regions.length === 0 ? { clean: true, text } : { clean: false, text, regions, binary: false };
}

function regionOf(versions: NumberedVersions, spans: Change["spans"]): ConflictRegion {
  const side = (version: "base" | "ours" | "theirs") => ({
    line: spans[version].start + 1,
    text: textOf(versions[version], spans[version]),
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

/** Puts the next marker on its own line, also after a last line without a line break. */
function ended(text: string, lineBreak: string): string {
  return text === "" || text.endsWith("\n") ? text : text + lineBreak;
}

/** As in git, a marker has the line ending of the lines before it, and of the first line of the base if they agree on "\r\n". */
function lineBreakFor({ base, ours, theirs }: NumberedVersions, spans: Change["spans"]): string {
  const before = ({ start }: { readonly start: number }): number => Math.max(start - 1, 0);
  for (const [lines, at] of [
    [ours, before(spans.ours)],
    [theirs, before(spans.theirs)],
  ] as const)
    if (lineBreakOf(lines, at) === "\n") return "\n";
  return lineBreakOf(base, 0) ?? "\n";
}

/** The line ending of a line or, if the last one has none, of the line before it; `undefined` when there is none. */
function lineBreakOf({ text, starts, numbers }: NumberedLines, at: number): "\n" | "\r\n" | undefined {
  if (numbers.length === 0) return undefined;
  const end = starts[at + 1] ?? text.length;
  if (text[end - 1] === "\n") return text[end - 2] === "\r" && end - 2 >= starts[at]! ? "\r\n" : "\n";
  if (at === 0) return undefined;
  return lineBreakOf({ text, starts, numbers }, at - 1);
}
