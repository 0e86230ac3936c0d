import { linePath } from "../../checkpoint/data/linePath.ts";
import { isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import { visitAt } from "../../checkpoint/state/AgentState.ts";
import { type LineAt, linesAt } from "../../checkpoint/moment/linesAt.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { lanesToHead } from "../recording/LineReader.ts";
import { LineResults } from "../recording/LineResults.ts";
import { recordingOf } from "../recording/readRecording.ts";
import { readStart } from "../recording/readStart.ts";
import { optionalPoint } from "../trace/runPath.ts";
import type { CandidateStart } from "./replayCandidate.ts";
import { joinedResults, type RecordedResults } from "../results/ResultPool.ts";

/** Reads the start of a counterfactual replay. @throws RunNotFoundError, RecordingPrunedError, NotSupportedError */
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
  const point = optionalPoint(stored, ["from", from], runId);
  const recording = recordingOf(stored, runId ?? point?.runId);
  if (!point) return { recording };
  const { lines } = linesAt(stored.index, point);
  return {
    recording,
    results: resultsAfter(stored, recording.runId, point, lines),
    positions: readStart(stored, lines),
  };
}

/**
 * Returns the results of all lines of a run after a point, even of abandoned lines. An open line repeats the visit at
 * which it starts. So results of this visit and of later visits count, even from before the point.
 */
function resultsAfter(
  log: AgentLog,
  runId: string,
  { order }: CheckpointPoint,
  open: readonly LineAt[],
): RecordedResults {
  const { index } = log;
  const starts = new Map(open.map((line) => [line.lane, line]));
  const lines = [...index.laneRecords].flatMap(([lane, records]) => {
    if (index.lanes.get(lane)?.runId !== runId) return [];
    const { point } = starts.get(lane) ?? {};
    const after = starts.has(lane) ? (point?.order ?? -1) : order;
    const own = new Set(records.flatMap((each) => (each.order > after ? each.order : [])));
    if (own.size === 0 && !point) return [];
    const isOwn = (result: { readonly order: number; readonly visit: Visit }) =>
      own.has(result.order) || (point !== undefined && isSinceVisit(result.visit, visitAt(point)));
    const { answers, calls, requests } = resultsOf(log, lane);
    const path = linePath(index, lane);
    return [{ answers: answers.filter(isOwn), calls: calls.filter(isOwn), requests: requests.filter(isOwn), path }];
  });
  return joinedResults(lines);
}

/**
 * Returns the results of a lane and of the lanes before it. They are needed because earlier responses contain the
 * inputs of later calls.
 */
function resultsOf(log: AgentLog, lane: number): ReturnType<LineResults["read"]> {
  const results = new LineResults(log);
  for (const span of lanesToHead(log.index, { lane, upTo: Infinity }))
    for (const each of log.index.laneRecords.get(span.lane) ?? [])
      if (each.order <= span.upTo) results.add(each.record, each.order);
  return results.read();
}
