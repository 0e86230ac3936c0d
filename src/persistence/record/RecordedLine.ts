import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LanePlace } from "../../checkpoint/records/lineRecords.ts";

export interface RecordedLine {
  /** `undefined` for the main line. */
  readonly place?: LanePlace;
  /** The lanes of the line, the newest last. Each move starts another lane. */
  readonly lanes: number[];
}

/**
 * Returns the first lane of a nested line. The log must contain lanes in the order of their numbers, but some lines
 * start more slowly than others. The caller must append the first records in the same turn of the event loop.
 */
export function takeLane({ lanes }: RecordedLine, run: AgentRun, journal: Journal): number {
  const lane = journal.nextLane++;
  lanes.push(lane);
  run.line = { ...run.line, lane };
  return lane;
}
