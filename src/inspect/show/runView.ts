import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { PlacedRecord } from "../log/AgentIndex.ts";
import type { RunView } from "../view/AgentView.ts";
import { isoTime } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";

export function runView({ index: { log }, show }: Shown, { record, position }: PlacedRecord<"run">): RunView {
  const { run, input, at } = record;
  const [end] = log.runs.get(run) ?? [];
  const status = end === undefined ? "open" : log.cancelled.has(run) ? "cancelled" : "completed";
  return withoutUndefined({
    runId: run,
    startedAt: isoTime(at),
    input: show(input),
    status,
    endId: log.checkpoints.get(end ?? -1)?.id,
    position,
  }) as RunView;
}
