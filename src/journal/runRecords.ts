import { valueDigest } from "../checkpoint/values/isSameValue.ts";
import type { RunRecord } from "../checkpoint/records/runRecords.ts";
import type { Journal } from "./Journal.ts";
import { nextVisitOf, type AgentState } from "../checkpoint/state/AgentState.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { LaneRecord, CheckpointRecord } from "../checkpoint/records/lineRecords.ts";
import { checkpointAt } from "../checkpoint/moment/beginLine.ts";
import { statusRecordsBefore } from "../checkpoint/state/StatusState.ts";
import type { AgentLog } from "../storage/AgentLog.ts";

/** The parts of a journal with which new records are created. */
export type RecordSource = Pick<Journal, "writer" | "sha256" | "clock">;

export function runRecord(journal: RecordSource, runId: string, input: unknown, trace?: string): RunRecord {
  return {
    kind: "run",
    run: runId,
    input: journal.writer.value(input, "the input of the run"),
    digest: valueDigest(input, journal.sha256),
    at: journal.clock.now(),
    ...(trace !== undefined && { trace }),
  };
}

export type RunEnd =
  | { readonly status: "cancelled"; readonly reason?: string }
  | ({ readonly status: "completed" } & Pick<CheckpointRecord, "input" | "verification" | "files">);

/** Returns the records that end an unfinished run, for one append. The effects of the run can still be reverted. */
export function endRecords(
  journal: Journal,
  { log, state }: { readonly log: AgentLog; readonly state: AgentState },
  end: RunEnd,
): readonly AgentRecord[] {
  const { checkpoint, run } = state;
  const runId = run?.run ?? state.runId;
  const begun = log.index.lanes.has(state.lane);
  const lane = begun ? state.lane : journal.nextLane++;
  const { node, input, iteration } = checkpoint?.record ?? { node: "start", input: run?.input, iteration: 0 };
  const first: LaneRecord = { kind: "lane", lane, keep: "nothing" };
  const tombstone = checkpointAt(journal, lane, {
    node: end.status === "completed" ? "finish" : node,
    input,
    visit: nextVisitOf(state),
    iteration,
    ...end,
  });
  journal.runs.set(runId, [tombstone.version, journal.position + 1]);
  if (end.status === "cancelled") journal.cancelled.add(runId);
  return [...statusRecordsBefore(journal.statusState, end.status, tombstone.at), ...(begun ? [] : [first]), tombstone];
}
