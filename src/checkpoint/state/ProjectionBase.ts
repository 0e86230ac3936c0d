import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import { emptyState, type AgentState } from "./AgentState.ts";
import type { CheckpointPoint } from "./CheckpointPoint.ts";

/** Where reading began in the middle of a log. */
export interface ProjectionBase {
  readonly state: AgentState;
  /** Orders it among all records of a log. */
  readonly order: number;
  /** The id of the parent of its checkpoint. */
  readonly parentId: string | undefined;
  /** True when its checkpoint begins its lane. */
  readonly first: boolean;
}

/** Reading begins at a snapshot. */
export function baseOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): ProjectionBase {
  const { parentId, first = false } = snapshot;
  return { state: stateOfSnapshot(snapshot, checkpoint), order: checkpoint.order, parentId, first };
}

/** The state of the main line that a snapshot restates, at its checkpoint. */
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
