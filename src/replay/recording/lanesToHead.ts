import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { LaneRecord } from "../../checkpoint/records/lineRecords.ts";

/** A lane of a line, with the records up to an order. */
export interface LaneSpan {
  readonly record: LaneRecord;
  readonly lane: number;
  readonly upTo: number;
}

/** Returns the lanes from the start of a run, a branch or a sub-agent to a point of its line, oldest first. */
export function lanesToHead(index: LogProjection, head: Pick<LaneSpan, "lane" | "upTo">): readonly LaneSpan[] {
  const spans: LaneSpan[] = [];
  let at: Pick<LaneSpan, "lane" | "upTo"> | undefined = head;
  while (at && spans.length <= index.lanes.size) {
    const record: LaneRecord | undefined = index.lanes.get(at.lane)?.record;
    if (!record) break;
    spans.unshift({ ...at, record });
    const before: CheckpointPoint | undefined = record.keep === "all" ? pointBefore(index, record) : undefined;
    at = before && { lane: before.record.lane, upTo: before.order };
  }
  return spans;
}

function pointBefore({ checkpoints }: LogProjection, { from }: LaneRecord): CheckpointPoint | undefined {
  return from === undefined ? undefined : checkpoints.get(from);
}
