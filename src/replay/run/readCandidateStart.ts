import { linePath } from "../../checkpoint/data/linePath.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { lanesToHead } from "../recording/lanesToHead.ts";
import { LineResults } from "../recording/LineResults.ts";
import { recordingOf } from "../recording/readRecording.ts";
import { readStart } from "../recording/readStart.ts";
import type { CandidateStart } from "./replayCandidate.ts";
import { joinedResults, type RecordedResults } from "../results/ResultPool.ts";

/**
 * Reads the point at which a counterfactual replay starts.
 *
 * @throws RunNotFoundError, RecordingPrunedError, CheckpointNotFoundError, NotSupportedError
 */
export async function readCandidateStart(
  log: RecordLog,
  {
    agentId,
    runId,
    from,
  }: { readonly agentId: string; readonly runId: string | undefined; readonly from: string | undefined },
): Promise<CandidateStart> {
  if (log.capabilities.keeps !== undefined) throw new NotSupportedError("replayRun()", "a log of model responses");
  const stored = await AgentLog.read(log, agentId);
  if (from === undefined) return { recording: recordingOf(stored, runId) };
  const point = findCheckpoint(stored, from);
  const recording = recordingOf(stored, runId ?? point.runId);
  return {
    recording,
    results: resultsAfter(stored, recording.runId, point.order),
    positions: readStart(stored, point),
  };
}

/** Returns the results of all lines of a run after a point, also of abandoned ones. */
function resultsAfter(log: AgentLog, runId: string, order: number): RecordedResults {
  const { index } = log;
  const lines = [...index.laneRecords].flatMap(([lane, records]) => {
    const own = new Set(records.flatMap((each) => (each.order > order ? each.order : [])));
    if (index.lanes.get(lane)?.runId !== runId || own.size === 0) return [];
    const results = new LineResults(log);
    // Earlier responses contain the inputs of later calls.
    for (const span of lanesToHead(index, { lane, upTo: Infinity }))
      for (const each of index.laneRecords.get(span.lane) ?? [])
        if (each.order <= span.upTo) results.add(each.record, each.order);
    const { answers, calls, requests } = results.read();
    const isOwn = (result: { readonly order: number }) => own.has(result.order);
    const path = linePath(index, lane);
    return [{ answers: answers.filter(isOwn), calls: calls.filter(isOwn), requests: requests.filter(isOwn), path }];
  });
  return joinedResults(lines);
}
