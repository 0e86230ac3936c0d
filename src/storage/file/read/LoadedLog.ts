import type { LineRange, Segment } from "../format/Segment.ts";

/** A part of a log: some lines of one segment. */
export interface LogPart extends LineRange {
  readonly segment: Segment;
}

/** A log as its files say it is at one moment. */
export interface LoadedLog {
  /** The position before the first append. */
  readonly from: number;
  /** The highest segment that counts; `undefined` for an agent without a log. */
  readonly newest: Segment | undefined;
  /** The position at which the agent was deleted, when that is the last that happened to it. */
  readonly dropped: number | undefined;
  /** Segments that count, oldest first, those of `newest.open.base` and then the newest. */
  readonly parts: readonly LogPart[];
  /** False when parts before the first one were not asked for. */
  readonly complete: boolean;
}

/** The lines of a segment up to `length` bytes: those carried over, then those appended. */
export function partsOf(segment: Segment, length = segment.bytes.length): LogPart[] {
  const { carried, appended } = segment;
  const ranges = [carried, { start: appended.start, end: Math.min(length, appended.end) }];
  return ranges.filter(({ start, end }) => end > start).map((range) => ({ ...range, segment }));
}
