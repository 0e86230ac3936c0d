import type { LanePlace } from "../../checkpoint/records/lineRecords.ts";

/** A line of a run, as its log has it. */
export interface RecordedLine {
  /** Absent: it is the main line. */
  readonly place?: LanePlace;
  /** The lanes that it was on, the newest last: each of its moves begins another. */
  readonly lanes: number[];
}
