import type { BranchBeginning, BranchEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { LanePlace, LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import { BranchChanges as StoredBranch } from "../../checkpoint/state/BranchChanges.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { LineCalls } from "../record/LineCalls.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import { newLine, restoredLine } from "./startRecorder.ts";
import { storedResult } from "./storedResult.ts";

type Next = (event: BranchEvent) => Promise<BranchBeginning>;

/** Starts a branch on a new lane, or continues it from the log. A finished branch does not run again. */
export async function beginBranch(recorders: RunRecorders, event: BranchEvent, next: Next): Promise<BranchBeginning> {
  const beginning = await next(event);
  if ("result" in beginning) return beginning;
  const { key, run } = event;
  const parent = recorders.of(run);
  const place = { parent: parent.lane, fork: parent.forks.version ?? 0, branch: key };
  const stored = storedBranch(parent, place);
  const result = stored && storedResult(stored.log, stored.branch, run.state);
  if (result) {
    parent.forks.addBranch(key, stored.branch.lanes);
    return { result };
  }
  const recorder = stored ? restored(parent, stored) : begun(parent, place, beginning.start);
  parent.forks.addBranch(key, recorder.line.lanes);
  recorders.add(recorder);
  return { start: recorder.start };
}

interface StoredIn {
  readonly log: AgentLog;
  readonly branch: StoredBranch;
}

function storedBranch({ stored: log }: RunRecorder, place: LanePlace): StoredIn | undefined {
  const line = log?.index.lines.lineOf(place);
  return log && line && { log, branch: new StoredBranch(log.index, line) };
}

function restored(parent: RunRecorder, { log, branch: { line, lanes } }: StoredIn): RunRecorder {
  const { lane, place } = line;
  const recorder = restoredLine(parent, parent.setup, { what: "a branch", log, lane, place, lanes: [...lanes] });
  recorder.newSettings = parent.newSettings;
  return recorder;
}

function begun(parent: RunRecorder, place: LanePlace, start: RunStart): RunRecorder {
  const { setup, structure, decisions } = parent;
  const { isRefusedCall } = parent.start;
  const keep = start.state.messages ? "all" : "state";
  const calls = new LineCalls(parent.calls.earlier, parent.calls);
  const begins: RunStart = {
    ...start,
    isRecordedCall: (call) => calls.isKnown(call),
    findCalls: (message) => calls.earlier?.find(message),
    ...(isRefusedCall && { isRefusedCall }),
  };
  const opening = (lane: number): readonly LaneRecord[] => [{ kind: "lane", lane, place, keep }];
  return newLine(parent, setup, begins, { place, structure, restored: decisions, calls, opening });
}
