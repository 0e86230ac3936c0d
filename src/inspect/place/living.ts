import { originOf } from "../../checkpoint/records/lineRecords.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";

/** The last order on the path to a head, by lane. Missing lanes are not on a path. */
export type Living = ReadonlyMap<number, number>;

/** Returns the part of a log on the paths to the heads. The rest was abandoned by moves, rollbacks and newer runs. */
export function livingIn(log: LogProjection): Living {
  const living = new Map<number, number>();
  for (const lane of log.lines.openLanes) addWay(log, living, lane);
  // A line is nested in an earlier lane, so its parent is already known.
  for (const lane of log.lanes.keys()) {
    const line = log.lines.nestedLine(lane);
    if (line?.lane === lane && line.closed !== undefined && (living.get(line.place.parent) ?? -1) >= line.closed)
      addWay(log, living, lane);
  }
  return living;
}

/** Whether a checkpoint is on the path to a head. */
export function isLiving(living: Living, { record, order }: CheckpointPoint): boolean {
  return order <= (living.get(record.lane) ?? -1);
}

function addWay({ lanes, checkpoints }: LogProjection, living: Map<number, number>, lane: number): void {
  for (let at = lane, upTo = Infinity; (living.get(at) ?? -1) < upTo;) {
    living.set(at, upTo);
    const start = lanes.get(at)?.record;
    const origin = start && checkpoints.get(originOf(start) ?? -1);
    if (!origin) return;
    at = origin.record.lane;
    upTo = origin.order;
  }
}
