import { placesUpTo } from "../../checkpoint/lines/lineage.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { type StepEvent, stepEvents } from "../../inspect/show/stepView.ts";
import type { Source } from "../../inspect/show/Source.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";

/** The part of a log that leads to the end of a run, or to a checkpoint in the run. */
export interface RunPath {
  readonly runId: string;
  /** The last checkpoint. `undefined` if the run has no checkpoint. */
  readonly end: CheckpointPoint | undefined;
  /** Whether the path ends where the run ends. */
  readonly isWhole: boolean;
  /** The node executions on the path, and all status changes of the agent, oldest first. */
  readonly events: readonly StepEvent[];
}

/**
 * Returns the checkpoint that an option names by id or name, if any.
 *
 * @throws CheckpointNotFoundError, or InvalidInputError if it is not in the run `runId`
 */
export function optionalPoint(
  log: Pick<AgentLog, "agentId" | "index">,
  [option, checkpointId]: readonly [option: string, checkpointId: string | undefined],
  runId: string | undefined,
): CheckpointPoint | undefined {
  const point = checkpointId === undefined ? undefined : findCheckpoint(log, checkpointId);
  if (!point || runId === undefined || runId === point.runId) return point;
  const expected = `expected a checkpoint of run ${quoted(runId)}, received one of run ${quoted(point.runId)}`;
  throw new InvalidInputError("checkpoint of a run", [{ path: option, expected }]);
}

/** Finds the path of a run. @param at - its last checkpoint. Defaults to the end of the run. */
export function runPath({ index, owner }: Source, runId: string, at: CheckpointPoint | undefined): RunPath {
  const { log } = index;
  const end = at ?? endOf(log, runId);
  const isWhole = at === undefined;
  const isOnWay = end ? placesUpTo(log, end) : () => false;
  const events = stepEvents(index, owner).filter((event) => {
    if ("unended" in event) return isWhole && isContinued(log, event.unended, { runId, end });
    if (!("record" in event)) return false;
    const { record, order } = event;
    if (record.kind === "status") return true;
    return (
      record.kind === "checkpoint" &&
      log.checkpoints.get(record.version)?.runId === runId &&
      isOnWay(record.lane, order)
    );
  });
  return { runId, end, isWhole, events };
}

/** Returns the newest checkpoint of a run on its main line, preferably one that no later move has abandoned. */
function endOf(log: LogProjection, runId: string): CheckpointPoint | undefined {
  const [ended = -1] = log.runs.get(runId) ?? [];
  const end = log.checkpoints.get(ended);
  if (end) return end;
  const points = [...log.checkpoints.values()].filter(
    ({ record, runId: of }) => of === runId && !log.lines.nestedLine(record.lane),
  );
  const isKept = log.latest ? placesUpTo(log, log.latest) : () => false;
  return points.findLast(({ record, order }) => isKept(record.lane, order)) ?? points.at(-1);
}

/** Whether an unfinished node execution continues the path. */
function isContinued(log: LogProjection, lane: number, { runId, end }: Pick<RunPath, "runId" | "end">): boolean {
  if (log.lanes.get(lane)?.runId !== runId || end?.record.status) return false;
  return log.lines.isOpen(lane) || lane === end?.record.lane;
}
