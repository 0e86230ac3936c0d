import { RecordingPrunedError, RunNotFoundError } from "../../errors/runErrors.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { LineReader } from "./LineReader.ts";
import type { RecordedEnd, Recording } from "./Recording.ts";

/**
 * Reads the recording of a run, by default the newest.
 *
 * @throws RunNotFoundError, RecordingPrunedError, NotSupportedError for a storage that keeps no log
 */
export async function readRecording(log: RecordLog, agentId: string, runId?: string): Promise<Recording> {
  if (log.capabilities.keeps !== undefined) throw new NotSupportedError("replayRun()", "a log of model responses");
  return recordingOf(await AgentLog.read(log, agentId), runId);
}

/** Like {@link readRecording}, from a log that was read from its start. */
export function recordingOf(log: AgentLog, runId: string | undefined): Recording {
  const { index, agentId } = log;
  const asked = runId ?? index.run?.run ?? "";
  const run = index.runRecords.get(asked);
  const head = headOf(index, asked);
  if (!run || !head) throw new RunNotFoundError(agentId, asked, [...index.runRecords.keys()]);
  if (index.pruned) throw new RecordingPrunedError(agentId, asked);
  const reader = new LineReader(log, head);
  const line = reader.read();
  return withoutUndefined({
    agentId,
    runId: asked,
    generation: index.latest?.generation ?? 1,
    input: log.readValue(run.input),
    end: endOf(log, asked),
    usage: index.usageOf(asked),
    history: reader.keptHistory,
    line,
  });
}

function headOf(index: LogProjection, runId: string): { readonly lane: number; readonly upTo: number } | undefined {
  const end = endPoint(index, runId);
  if (end) return { lane: end.record.lane, upTo: end.order };
  const { mainLane } = index.lines;
  return runId === index.run?.run && mainLane !== 0 ? { lane: mainLane, upTo: Infinity } : undefined;
}

function endPoint({ runs, checkpoints }: LogProjection, runId: string): CheckpointPoint | undefined {
  const [version] = runs.get(runId) ?? [];
  return version === undefined ? undefined : checkpoints.get(version);
}

function endOf(log: AgentLog, runId: string): RecordedEnd {
  const { index } = log;
  const end = endPoint(index, runId);
  if (!end) return statusOf(index);
  if (index.cancelled.has(runId)) return { status: "cancelled" };
  const { lane, input } = end.record;
  return { status: "completed", output: log.readValue(lineValue(index, lane, input, end.order)) };
}

function statusOf({ statusState: { current } }: LogProjection): RecordedEnd {
  const { status = "in_progress", record } = current ?? {};
  if (!record?.error) return { status };
  const { name, message, code } = record.error;
  return { status, error: withoutUndefined({ name, message, code }) };
}
