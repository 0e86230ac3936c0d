import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LanePlace } from "../../checkpoint/records/lineRecords.ts";

/** A line of a run, as its log has it. */
export interface RecordedLine {
  /** Absent: it is the main line. */
  readonly place?: LanePlace;
  /** The lanes that it was on, the newest last: each of its moves begins another. */
  readonly lanes: number[];
}

/**
 * The lane on which a nested line begins. Lanes stand in the log in the order of their numbers, and some lines take longer to
 * begin than others: what begins the line is appended in the same turn of the event loop.
 */
export function takeLane({ lanes }: RecordedLine, run: AgentRun, journal: Journal): number {
  const lane = journal.nextLane++;
  lanes.push(lane);
  run.line = { ...run.line, lane };
  return lane;
}
