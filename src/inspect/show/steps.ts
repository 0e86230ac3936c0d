import type { AgentIndex } from "../log/AgentIndex.ts";
import type { StepsPage, StepView } from "../view/StepView.ts";
import { type PageOptions, pageOf } from "../log/pageOf.ts";
import { type Source, withValues } from "./Source.ts";
import { stepEvents } from "../log/stepEvents.ts";
import { stepViews } from "./stepView.ts";
import { originOf } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { LaneView } from "../view/viewParts.ts";
import { lineShower } from "./checkpointView.ts";

export async function steps(source: Source, options: PageOptions): Promise<StepsPage> {
  const { items, ...cursors } = pageOf(stepEvents(source.index, source.owner), ({ order }) => order, options);
  const shown = await withValues(source, (from) => stepViews(from, items));
  return { steps: shown, lanes: lanesOf(source.index, shown), ...cursors, ...endOf(source.index) };
}

function lanesOf({ log }: AgentIndex, shown: readonly StepView[]) {
  return laneViews(
    log,
    shown.flatMap((step) => ("lane" in step ? [step.lane] : [])),
  );
}

function endOf({ end, damage }: AgentIndex): Pick<StepsPage, "position" | "damage"> {
  return { position: end.position, damage };
}

/** Returns the given lanes, and the lanes that they start from or are nested in. */
function laneViews(log: LogProjection, lanes: Iterable<number>): readonly LaneView[] {
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
