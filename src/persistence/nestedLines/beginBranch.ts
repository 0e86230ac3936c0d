import type { BranchBeginning, BranchEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { LanePlace } from "../../checkpoint/records/lineRecords.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { BranchChanges as StoredBranch } from "../../checkpoint/state/BranchChanges.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { takeLane } from "../record/RecorderStart.ts";
import { RunRecorder } from "../record/RunRecorder.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import { restoredRun } from "./startRecorder.ts";
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
  const { setup, journal, run } = parent;
  const { lane, place } = line;
  const state = foldLine(log.index, lane);
  if (!state) throw new UnreadableValueError(`lane ${lane} of a branch is not in the log`);
  const own = { place, lanes: [...lanes] };
  const recorder = restoredRun(setup, journal, { log, state }, { lane, run, opening: [], line: own, parent });
  recorder.newSettings = parent.newSettings;
  return recorder;
}

function begun(parent: RunRecorder, place: LanePlace, { state, ...from }: RunStart): RunRecorder {
  const { setup, journal, run, structure, decisions, start } = parent;
  const keep = state.messages ? "all" : "state";
  const { isRecordedCall, isRefusedCall } = start;
  const begins: RunStart = {
    ...from,
    state,
    line: { ...from.line, lane: 0 },
    ...(isRecordedCall && { isRecordedCall }),
    ...(isRefusedCall && { isRefusedCall }),
  };
  const line = { place, lanes: [] };
  return new RunRecorder(setup, journal, run, begins, {
    structure,
    opening: [],
    nest: (begun) => {
      const lane = takeLane(line, begun, journal);
      return [lane, [{ kind: "lane", lane, place, keep }]];
    },
    restored: decisions,
    line,
    parent,
  });
}
