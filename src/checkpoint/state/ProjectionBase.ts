import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import { emptyState, type AgentState } from "./AgentState.ts";
import type { CheckpointPoint } from "./CheckpointPoint.ts";

export interface ProjectionBase {
  readonly state: AgentState;
  /** The order among all records of a log. */
  readonly order: number;
  readonly parentId: string | undefined;
  readonly first: boolean;
}

export function baseOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): ProjectionBase {
  const { parentId, first = false } = snapshot;
  return { state: stateOfSnapshot(snapshot, checkpoint), order: checkpoint.order, parentId, first };
}

function stateOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): AgentState {
  const { run, history, storage, settings, requirements, structure, decisions } = snapshot;
  return {
    ...emptyState,
    lane: checkpoint.record.lane,
    runId: run.run,
    run,
    checkpoint,
    history,
    storage: new Map(Object.entries(storage)),
    settings,
    requirements,
    structure,
    decisions,
  };
}
