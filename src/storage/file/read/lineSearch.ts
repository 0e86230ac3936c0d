import { linkOf, snapshotMark } from "../../../checkpoint/format/entryCodec.ts";
import type { LogPart } from "./LoadedLog.ts";
import { lineBreak, linesBackwards, type LineRange } from "../format/Segment.ts";

const snapshotLine = Buffer.from(`\n${snapshotMark}`);

/** Where lines begin that hold a snapshot, from the last to the first: found by their first bytes, not yet verified. */
export function* snapshotLinesBackwards({ segment, start, end }: LogPart): Generator<number> {
  // A line break comes before every line of a part: the claim stands before them all.
  for (let at = end - snapshotLine.length; at >= start - 1; at--) {
    at = segment.bytes.lastIndexOf(snapshotLine, at);
    if (at < start - 1) return;
    yield at + 1;
  }
}

/** The lines that hold a text, from the last to the first. */
export function* linesWithBackwards({ segment: { bytes }, start, end }: LogPart, text: Buffer): Generator<LineRange> {
  for (let at = bytes.lastIndexOf(text, end - text.length); at >= start;) {
    const lineStart = Math.max(start, bytes.lastIndexOf(lineBreak, at) + 1);
    const found = bytes.indexOf(lineBreak, at);
    if (found >= 0 && found < end) yield { start: lineStart, end: found };
    at = lineStart - text.length < start ? -1 : bytes.lastIndexOf(text, lineStart - text.length);
  }
}

/** Where the lines after a position begin; `undefined` when the part holds no line up to it. Unverified. */
export function startAfter(part: LogPart, position: number): number | undefined {
  for (const line of linesBackwards(part.segment.bytes, part)) {
    const found = linkOf(part.segment.bytes.subarray(line.start, line.end));
    if (found && found.position <= position) return line.end + 1;
  }
  return undefined;
}
