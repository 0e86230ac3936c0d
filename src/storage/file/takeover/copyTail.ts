import type { FoundEntry } from "../layout/SegmentScan.ts";
import type { Open } from "../layout/controlLine.ts";
import type { LoadedLog, LogPart } from "../read/LogLoader.ts";

/** What a new owner takes over: older segments by name and length, and lines to copy into its own. */
export interface CopiedTail {
  readonly from: number;
  readonly base: Open["base"];
  /** Whole lines with their line breaks, oldest first. */
  readonly carry: readonly Buffer[];
}

/** Segments up to this size in bytes are always carried whole. */
const smallSegment = 64 * 1024;
/** No more than this is carried whole, or this part of the log where that is more. */
const mostCarried = 1024 * 1024;
const carriedPart = 1 / 64;

/**
 * The last line of the newest segment is copied, since its owner may have died before it was synced: were it only
 * referred to, a power cut could take a line that others had already built upon. An `open` without a line after it may
 * not be synced either, so its lines are copied and its base is used unchanged.
 */
export function copyTail(image: LoadedLog, lastAppended: FoundEntry | undefined): CopiedTail {
  const { newest, from } = image;
  if (newest?.open === undefined || image.dropped !== undefined) return { from, base: [], carry: [] };
  const { bytes, generation, carried, open } = newest;
  if (lastAppended === undefined)
    return { from, base: open.base, carry: nonEmpty(bytes.subarray(carried.start, carried.end)) };
  const lastLine = bytes.subarray(lastAppended.start, lastAppended.end + 1);
  return { from, base: [...open.base, [generation, lastAppended.start]], carry: [lastLine] };
}

/**
 * The segments to carry whole instead of listing them, oldest first: from the oldest one on that is no larger than all
 * newer ones together. So sizes at least double from one listed segment to the next older, and each line is copied at most
 * once for every doubling of what came after it. What is carried is read by every open, so there is a limit to it, and a
 * long log has some hundreds of segments instead.
 */
export function segmentsToCarry({ base, carry }: CopiedTail): Open["base"] {
  const tail = carry.reduce((total, lines) => total + lines.length, 0);
  const most = Math.max(mostCarried, carriedPart * base.reduce((total, [, length]) => total + length, tail));
  let newer = tail;
  let first = base.length;
  for (const [index, [, length]] of [...base.entries()].reverse()) {
    if (length <= Math.max(smallSegment, newer) && newer - tail + length <= most) first = index;
    newer += length;
  }
  return base.slice(first);
}

/** The same with one more segment carried whole. */
export function carryWhole({ from, base, carry }: CopiedTail, parts: readonly LogPart[]): CopiedTail {
  const lines = parts.map(({ segment, start, end }) => segment.bytes.subarray(start, end));
  return { from, base: base.slice(0, -1), carry: [...lines, ...carry] };
}

function nonEmpty(bytes: Buffer): Buffer[] {
  return bytes.length === 0 ? [] : [bytes];
}
