import type { FoundEntry } from "./layout/SegmentScan.ts";
import type { Open } from "./layout/Segment.ts";
import type { LoadedLog, LogPart } from "./read/LogLoader.ts";

/** The content of a new segment: references to older segments, and lines to copy. */
export interface CopiedTail {
  readonly from: number;
  readonly base: Open["base"];
  /** Complete lines with line breaks, oldest first. */
  readonly carry: readonly Buffer[];
}

/** Segments up to this number of bytes are always copied. */
const smallSegment = 64 * 1024;
/** The maximum number of bytes to copy, or `carriedPart` of the log if that is more. */
const mostCarried = 1024 * 1024;
const carriedPart = 1 / 64;

/**
 * Copies the last line of the newest segment, because its owner may have crashed before the sync. If the new segment
 * only referred to this line, a power loss could remove a line on which later lines depend. An `open` without a
 * following line may also not be synced. In this case, the lines that its owner copied are copied again, and the same
 * base is used.
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
 * Returns the older segments whose lines the new segment copies, oldest first. The new segment refers to the other
 * segments instead. Copying starts at the oldest segment that is no larger than all newer ones together. So each
 * remaining segment has at least twice the size of the next newer segment, and a line is copied again only when the
 * later part of the log has doubled. Copied lines are read each time the log is opened, so their size is limited.
 * Because of this limit, a very long log has a few hundred segments.
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

export function carryWhole({ from, base, carry }: CopiedTail, parts: readonly LogPart[]): CopiedTail {
  const lines = parts.map(({ segment, start, end }) => segment.bytes.subarray(start, end));
  return { from, base: base.slice(0, -1), carry: [...lines, ...carry] };
}

function nonEmpty(bytes: Buffer): Buffer[] {
  return bytes.length === 0 ? [] : [bytes];
}
