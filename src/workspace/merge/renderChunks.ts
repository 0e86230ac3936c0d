import type { Chunk, Span } from "./Chunk.ts";
import type { ConflictRegion, ConflictSide, MergeResult } from "./MergeResult.ts";
import type { MergeVersions } from "./MergeVersions.ts";

type Lines = MergeVersions<readonly string[]>;

/** The names beside the conflict markers. */
export interface MergeLabels {
  readonly ours: string;
  readonly theirs: string;
}

/** The text of a merge, with markers around conflicts. */
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
