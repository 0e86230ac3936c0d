import { formatVersion } from "../../../checkpoint/records/Entry.ts";
import { CorruptLogError, UnsupportedFormatError } from "../../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { type Claim, decodeControl, type Open } from "./controlLine.ts";

export interface LineRange {
  readonly start: number;
  readonly end: number;
}

export interface Segment {
  readonly generation: number;
  readonly path: string;
  readonly bytes: Buffer;
  /** `undefined` only if a file system without `link` allowed an incomplete claim. */
  readonly claim: Claim | undefined;
  /** `undefined` for an abandoned segment, whose owner ended before it had opened the log. */
  readonly open: Open | undefined;
  /** The lines that were copied from older segments. */
  readonly carried: LineRange;
  readonly appended: LineRange;
  /** Whether the first appended lines were not loaded. */
  readonly cut?: true;
}

export const lineBreak = 10;

export function lineNumberAt(bytes: Buffer, at: number): number {
  let line = 1;
  for (let next = bytes.indexOf(lineBreak); next >= 0 && next < at; next = bytes.indexOf(lineBreak, next + 1)) line++;
  return line;
}

/** Yields the lines in a range, without line breaks. The last line may be incomplete. */
export function* linesIn(bytes: Buffer, { start, end }: LineRange): Generator<LineRange & { readonly whole: boolean }> {
  for (let at = start; at < end;) {
    const found = bytes.indexOf(lineBreak, at);
    const whole = found >= 0 && found < end;
    const lineEnd = whole ? found : end;
    yield { start: at, end: lineEnd, whole };
    at = lineEnd + 1;
  }
}

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

/** The start of an `open` line, including the preceding line break. */
export const openMark = Buffer.from('\n{"open":');
const statedFormat = /^\{"claim":\{"format":([0-9]{1,9})[,}]/;

/**
 * Locates the claim, the copied lines, `open` and the appended lines without decoding entries. A claim is always
 * published complete, so an invalid claim is damage.
 */
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

/** Parses the claim in the first line of a segment and checks the agent and the generation. */
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

/**
 * Parses `open` and checks the copied lines. They are checked because `open` may be durable although the lines are not.
 */
function parseOpen(bytes: Buffer, carried: LineRange, end: number, sha256: Sha256): Open | undefined {
  const open = decodeControl("open", bytes.subarray(carried.end, end), sha256);
  return open?.carried === sha256.base64url(bytes.subarray(carried.start, carried.end)) ? open : undefined;
}
