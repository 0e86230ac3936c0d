import { stateAt } from "../../checkpoint/state/foldTo.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedState } from "./Recording.ts";

/** Returns the state of a line at a checkpoint. */
export function recordedStateAt(log: AgentLog, point: CheckpointPoint): RecordedState {
  const state = stateAt(log.index, point);
  const reader = log.reader(state);
  const { model, parameters, tools } = state.settings ?? {};
  return withoutUndefined({
    messages: state.history.map(({ message }) => reader.message(message)),
    storage: [...state.storage].map(([key, slot]) => [key, reader.read(slot)] as const),
    model,
    parameters: parameters === undefined ? undefined : (reader.read(parameters) as Record<string, unknown>),
    tools,
    iteration: point.record.iteration,
    decisions: state.decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
  });
}
