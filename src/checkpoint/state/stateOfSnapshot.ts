import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import { emptyState, type AgentState } from "./AgentState.ts";
import type { CheckpointPoint } from "./CheckpointPoint.ts";

/** The state that a snapshot restates, at its checkpoint. */
export function stateOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): AgentState {
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
