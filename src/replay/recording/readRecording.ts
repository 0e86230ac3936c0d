import { RecordingPrunedError, RunNotFoundError } from "../../errors/replayErrors.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { LineReader } from "./LineReader.ts";
import type { RecordedEnd, Recording } from "./Recording.ts";

/**
 * Reads the recording of a run.
 *
 * @param runId Defaults to the newest run of the agent.
 * @throws RunNotFoundError if the log does not contain the run.
 * @throws RecordingPrunedError if the log was pruned.
 * @throws NotSupportedError for a storage that keeps no log.
 */
export async function readRecording(log: RecordLog, agentId: string, runId?: string): Promise<Recording> {
  if (log.capabilities.keeps !== undefined) throw new NotSupportedError("replayRun()", "a log of model responses");
  return recordingOf(await AgentLog.read(log, agentId), runId);
}

/** Like {@link readRecording}, from a log that was read from its start. */
export function recordingOf(log: AgentLog, runId: string | undefined = log.index.run?.run): Recording {
  const { index, agentId } = log;
  const run = runId === undefined ? undefined : index.runRecords.get(runId);
  const head = run && headOf(index, run.run);
  if (!run || !head) throw new RunNotFoundError(agentId, runId ?? "", [...index.runRecords.keys()]);
  if (index.pruned) throw new RecordingPrunedError(agentId, run.run);
  const line = new LineReader(log, head).read();
  const generation = index.checkpoints.get(line.parts.at(-1)?.checkpoints.at(-1)?.version ?? 0)?.generation ?? 1;
  return withoutUndefined({
    agentId,
    runId: run.run,
    generation,
    input: log.readValue(run.input),
    end: endOf(log, run.run),
    usage: index.usageOf(run.run),
    line,
  });
}

function headOf(index: LogProjection, runId: string): { readonly lane: number; readonly upTo: number } | undefined {
  const [version] = index.runs.get(runId) ?? [];
  const end = version === undefined ? undefined : index.checkpoints.get(version);
  if (end) return { lane: end.record.lane, upTo: end.order };
  const { mainLane } = index.lines;
  return runId === index.run?.run && mainLane !== 0 ? { lane: mainLane, upTo: Infinity } : undefined;
}

function endOf(log: AgentLog, runId: string): RecordedEnd {
  const { index } = log;
  const [version] = index.runs.get(runId) ?? [];
  const end = version === undefined ? undefined : index.checkpoints.get(version);
  if (end && index.cancelled.has(runId)) return { status: "cancelled" };
  if (end) {
    const { lane, input } = end.record;
    return { status: "completed", output: log.readValue(lineValue(index, lane, input, end.order)) };
  }
  const { current } = index.statusState;
  const { name, message, code } = current?.record?.error ?? {};
  const error = name !== undefined && message !== undefined && { error: withoutUndefined({ name, message, code }) };
  return { status: current?.status ?? "in_progress", ...error };
}
