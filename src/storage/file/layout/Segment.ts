import { formatVersion } from "../../../checkpoint/format/formatVersion.ts";
import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import { UnsupportedFormatError } from "../../../errors/storage/UnsupportedFormatError.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { type Claim, decodeControl, type Open } from "./controlLine.ts";

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
  /** True when the first of the lines that its owner appended are left out. */
  readonly cut?: true;
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

/** What the line of an `open` begins with, and the line break before it. */
export const openMark = Buffer.from('\n{"open":');
const statedFormat = /^\{"claim":\{"format":([0-9]{1,9})[,}]/;

/** Finds claim, carried lines, `open` and appended lines; decodes no entry. A claim is born whole: a bad one is damage. */
export function parseSegment(
  agentId: string,
  generation: number,
  path: string,
  bytes: Buffer,
  sha256: Sha256,
): Segment {
  const claimEnd = bytes.indexOf(lineBreak);
  const empty: LineRange = { start: bytes.length, end: bytes.length };
  if (claimEnd < 0)
    return { generation, path, bytes, claim: undefined, open: undefined, carried: empty, appended: empty };
  const claim = parseClaim(agentId, generation, path, bytes.subarray(0, claimEnd), sha256);
  const start = claimEnd + 1;
  const openAt = bytes.indexOf(openMark, claimEnd) + 1;
  const openEnd = openAt === 0 ? -1 : bytes.indexOf(lineBreak, openAt);
  const carried = { start, end: openAt };
  const open = openEnd < 0 ? undefined : parseOpen(bytes, carried, openEnd, sha256);
  if (open === undefined)
    return { generation, path, bytes, claim, open, carried: { start, end: bytes.length }, appended: empty };
  return { generation, path, bytes, claim, open, carried, appended: { start: openEnd + 1, end: bytes.length } };
}

/** The claim on the first line of a segment, which must be of this agent and generation. */
export function parseClaim(agentId: string, generation: number, path: string, line: Buffer, sha256: Sha256): Claim {
  const format = Number(statedFormat.exec(line.toString("latin1", 0, 64))?.[1] ?? formatVersion);
  if (format > formatVersion) throw new UnsupportedFormatError(path, format, formatVersion);
  const claim = decodeControl("claim", line, sha256);
  if (claim === undefined)
    throw new CorruptLogError(agentId, { file: path, line: 1 }, "the claim of its owner is not readable");
  if (claim.agentId === agentId && claim.generation === generation) return claim;
  const found = `it belongs to generation ${claim.generation} of agent ${JSON.stringify(claim.agentId)}`;
  throw new CorruptLogError(agentId, { file: path, line: 1 }, found);
}

/** An `open` may reach the device before the lines carried before it: only with all of them it counts. */
function parseOpen(bytes: Buffer, carried: LineRange, end: number, sha256: Sha256): Open | undefined {
  const open = decodeControl("open", bytes.subarray(carried.end, end), sha256);
  return open?.carried === sha256.base64url(bytes.subarray(carried.start, carried.end)) ? open : undefined;
}
