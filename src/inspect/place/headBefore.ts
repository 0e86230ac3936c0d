import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { firstAfter } from "./laneRecords.ts";

/**
 * Returns the newest checkpoint of a line before an order.
 *
 * @param lane - any lane of the line. Defaults to the main line.
 */
export function headBefore(
  { log, events }: AgentIndex,
  order: number,
  lane = log.lines.mainLane,
): CheckpointPoint | undefined {
  const line = log.lines.nestedLine(lane);
  for (let at = firstAfter(events, order - 0.1) - 1; at >= 0; at--) {
    const event = events[at];
    if (!event || !("record" in event) || event.record.kind !== "checkpoint") continue;
    if (log.lines.nestedLine(event.record.lane) === line) return log.checkpoints.get(event.record.version);
  }
  return undefined;
}
