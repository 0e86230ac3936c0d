import { visitAt } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { Journal } from "../../journal/Journal.ts";

/** A line that begins at a checkpoint, with a checkpoint of its own, so that the latest is always the head. */
export interface Branch {
  readonly lane: number;
  readonly run: RunRecord;
  readonly records: readonly AgentRecord[];
  readonly head: { readonly version: number; readonly id: string };
}

/** The records that go back to a checkpoint, or branch off from it: what runs next there runs next here. */
export function branchFrom(
  target: CheckpointPoint,
  move: "rollback" | "branch",
  run: RunRecord,
  reopens: boolean,
  journal: Journal,
): Branch {
  const lane = journal.nextLane++;
  const version = journal.nextVersion++;
  const { node, input, inputType, unresolved, iteration, progress, summary, branches } = target.record;
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at: journal.clock.now(),
    node,
    input,
    ...(inputType !== undefined && { inputType }),
    ...(unresolved && { unresolved }),
    visit: visitAt(target),
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { summary }),
    ...(branches && { branches }),
    move,
  };
  const start: LaneRecord = { kind: "lane", lane, from: target.version, keep: "all" };
  return {
    lane,
    run,
    records: [...(reopens ? [run] : []), start, checkpoint],
    head: { version, id: `${journal.generation}-${version}` },
  };
}

/** The run that a line from a checkpoint belongs to: the checkpoint's own, which goes on if it had ended. */
export function runAt(
  target: CheckpointPoint,
  index: LogProjection,
): { readonly run: RunRecord; readonly reopens: boolean } {
  const run = index.runRecords.get(target.runId) ?? {
    kind: "run",
    run: target.runId,
    input: null,
    at: target.record.at,
  };
  return { run, reopens: index.run?.run !== target.runId || !index.unfinished };
}
