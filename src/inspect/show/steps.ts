import type { AgentIndex } from "../log/AgentIndex.ts";
import type { StepsPage, StepView } from "../view/StepView.ts";
import { laneViews } from "./laneView.ts";
import { type PageOptions, pageOf } from "../place/pageOf.ts";
import { type Source, withValues } from "./Source.ts";
import { stepEvents } from "../place/stepEvents.ts";
import { stepViews } from "./stepView.ts";

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
