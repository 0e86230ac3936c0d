import { originOf } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { LaneView } from "../view/LineView.ts";
import { lineShower } from "./checkpointView.ts";

/** Returns the given lanes, and the lanes that they start from or are nested in. */
export function laneViews(log: LogProjection, lanes: Iterable<number>): readonly LaneView[] {
  const lineOf = lineShower(log);
  const all = new Set(lanes);
  for (const lane of all) for (const before of lanesBefore(log, lane)) all.add(before);
  return [...all].toSorted((a, b) => a - b).map((lane) => laneView(log, lane, lineOf));
}

function lanesBefore(log: LogProjection, lane: number): readonly number[] {
  const parent = log.lines.nestedLine(lane)?.place.parent;
  const start = log.lanes.get(lane)?.record;
  const origin = start && log.checkpoints.get(originOf(start) ?? -1)?.record.lane;
  return [parent, origin].filter((each) => each !== undefined);
}

function laneView(log: LogProjection, lane: number, lineOf: ReturnType<typeof lineShower>): LaneView {
  const start = log.lanes.get(lane)?.record;
  const place = log.lines.nestedLine(lane)?.place;
  return withoutUndefined({
    lane,
    line: lineOf(lane),
    parentLane: place?.parent,
    toolCallId: place && "call" in place ? place.call : undefined,
    fromId: start && log.checkpoints.get(originOf(start) ?? -1)?.id,
    lastId: log.latestOf(lane)?.id,
    keeps: start?.keep ?? "all",
    state: stateOf(log, lane),
  });
}

function stateOf(log: LogProjection, lane: number): LaneView["state"] {
  if (log.lines.isOpen(lane)) return "open";
  return log.latestOf(lane)?.record.ended ? "ended" : "left";
}
