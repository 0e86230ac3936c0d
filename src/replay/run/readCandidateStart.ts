import { NotSupportedError } from "../../errors/storageErrors.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { LineResults } from "../recording/LineResults.ts";
import { recordingOf } from "../recording/readRecording.ts";
import { readStart } from "../recording/readStart.ts";
import type { CandidateStart } from "./replayCandidate.ts";
import type { RecordedResults } from "../results/ResultPool.ts";

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
  return { recording, results: resultsAfter(stored, point.order), positions: readStart(stored, point) };
}

/** Returns the results of all lines after a point, also of abandoned ones. */
function resultsAfter(log: AgentLog, order: number): RecordedResults {
  const results = new LineResults(log);
  // Earlier responses contain the inputs of later calls.
  const records = [...log.index.laneRecords.values()].flat();
  for (const each of records.toSorted((a, b) => a.order - b.order)) results.add(each.record, each.order);
  const { answers, calls, requests } = results.read();
  const isAfter = (result: { readonly order: number }) => result.order > order;
  return { answers: answers.filter(isAfter), calls: calls.filter(isAfter), requests: requests.filter(isAfter) };
}
