import type { Claim, Open } from "./controlLine.ts";

/** A part of a segment that holds whole lines, from the start of one to the end of another. */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** A segment that was read: its bytes, and what its first lines say. */
export interface Segment {
  readonly generation: number;
  readonly path: string;
  readonly bytes: Buffer;
  /** `undefined` only where a file system without `link` let a claim be torn. */
  readonly claim: Claim | undefined;
  /** Without it the segment is void: it was never more than the attempt of an owner. */
  readonly open: Open | undefined;
  /** Lines that were carried over from older segments. */
  readonly carried: LineRange;
  /** Lines that its owner appended. */
  readonly appended: LineRange;
}

export const lineBreak = 10;

/** The number of the line that a place is in, counted from 1. */
export function lineNumberAt(bytes: Buffer, at: number): number {
  let line = 1;
  for (let next = bytes.indexOf(lineBreak); next >= 0 && next < at; next = bytes.indexOf(lineBreak, next + 1)) line++;
  return line;
}

/** The lines in a part of a segment: start, and end without the line break. The last may lack one. */
export function* linesIn(bytes: Buffer, { start, end }: LineRange): Generator<LineRange & { readonly whole: boolean }> {
  for (let at = start; at < end;) {
    const found = bytes.indexOf(lineBreak, at);
    const whole = found >= 0 && found < end;
    const lineEnd = whole ? found : end;
    yield { start: at, end: lineEnd, whole };
    at = lineEnd + 1;
  }
}

/** The same from the last line to the first. */
export function* linesBackwards(
  bytes: Buffer,
  { start, end }: LineRange,
): Generator<LineRange & { readonly whole: boolean }> {
  for (let at = end; at > start;) {
    const whole = bytes[at - 1] === lineBreak;
    const lineEnd = whole ? at - 1 : at;
    const before = lineEnd > start ? bytes.lastIndexOf(lineBreak, lineEnd - 1) : -1;
    const lineStart = before < start ? start : before + 1;
    yield { start: lineStart, end: lineEnd, whole };
    at = lineStart;
  }
}
