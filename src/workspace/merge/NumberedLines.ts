import type { MergeVersions } from "./MergeResult.ts";
import type { Steps } from "../files/Slice.ts";

/** The lines of a text. Equal lines have equal numbers. */
export interface NumberedLines {
  readonly text: string;
  /** The offset of each line, followed by the length of the text. */
  readonly starts: Int32Array;
  readonly numbers: Int32Array;
}

/** Three versions, and the number of distinct lines in all of them. */
export interface NumberedVersions extends MergeVersions<NumberedLines> {
  readonly different: number;
}

const linesPerStep = 2_000;

/** Numbers the lines of all versions, with their breaks. Only "\n" ends a line, so "a\r\n" and "a\n" differ. */
export function* numberLines(versions: MergeVersions<string>): Steps<NumberedVersions> {
  const known = new Map<string, number>();
  const base = yield* numbered(versions.base, known, undefined);
  const ours = yield* numbered(versions.ours, known, base);
  const theirs = yield* numbered(versions.theirs, known, base);
  return { base, ours, theirs, different: known.size };
}

/** @param similar a text with probably the same next lines, whose comparison is faster than a lookup in a map */
function* numbered(text: string, known: Map<string, number>, similar: NumberedLines | undefined): Steps<NumberedLines> {
  const starts: number[] = [0];
  const numbers: number[] = [];
  let expected = 0;
  for (let start = 0; start < text.length;) {
    const lineBreak = text.indexOf("\n", start);
    const end = lineBreak < 0 ? text.length : lineBreak + 1;
    const line = text.slice(start, end);
    let number = similar === undefined ? -1 : expectedNumber(line, similar, expected);
    if (number < 0) {
      number = known.get(line) ?? known.size;
      if (number === known.size) known.set(line, number);
      else if (similar !== undefined) expected = nextPlace(number, similar, expected);
    }
    expected++;
    numbers.push(number);
    starts.push(end);
    start = end;
    if (numbers.length % linesPerStep === 0) yield;
  }
  return { text, starts: Int32Array.from(starts), numbers: Int32Array.from(numbers) };
}

/** Returns the number of the expected line if `line` is equal to it, else -1. */
function expectedNumber(line: string, { text, starts, numbers }: NumberedLines, at: number): number {
  if (at >= numbers.length || starts[at + 1]! - starts[at]! !== line.length) return -1;
  return line === text.slice(starts[at], starts[at + 1]) ? numbers[at]! : -1;
}

/** The number of lines that are searched in both directions after an added or removed line. */
const lookAhead = 8;

function nextPlace(number: number, { numbers }: NumberedLines, expected: number): number {
  for (let distance = 1; distance <= lookAhead; distance++) {
    if (numbers[expected + distance] === number) return expected + distance;
    if (numbers[expected - distance] === number) return expected - distance;
  }
  return expected;
}

export function textOfLines({ text, starts }: NumberedLines, { start, end }: { start: number; end: number }): string {
  return text.slice(starts[start], starts[end]);
}
