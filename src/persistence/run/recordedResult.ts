import type { RunResult } from "../../agent/feature/RunResult.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { RunInputDiffersError } from "../../errors/runErrors.ts";
import type { StoredState } from "../starting/startRecorder.ts";
import type { DurableCall } from "./DurableCall.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import type { CheckpointPosition } from "../../checkpoint/records/SnapshotRecord.ts";
import { pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { comparedInput } from "./decideRun.ts";

export async function recordedResult(
  { setup, journal, request, span }: DurableCall,
  runId: string,
  stored: StoredState | undefined,
): Promise<RunResult<unknown>> {
  const { digest, ...end } = await recordedEnd(setup.log, journal, runId);
  const { input, agentId, kind } = request;
  const run = stored?.log.index.runRecords.get(runId);
  span?.add({ replayed: true, linkedTrace: run?.trace });
  const isOther =
    digest === undefined
      ? comparedInput(stored, run, input) === "other"
      : digest !== valueDigest(input, journal.sha256);
  if (kind === "run" && isOther) throw new RunInputDiffersError(agentId, runId);
  return { status: "completed", runId, ...end };
}

const selfContained: ReadonlySet<string | undefined> = new Set([undefined, "$plain", "$rich", "$blob"]);

interface RecordedEnd {
  readonly output: unknown;
  readonly usage?: ModelUsage;
  readonly digest?: string;
}

/** Returns the end of a finished run. Reads the whole log only if the output is a message. */
async function recordedEnd(recordLog: RecordLog, journal: Journal, runId: string): Promise<RecordedEnd> {
  const place = journal.runs.get(runId);
  const end = place && (await findEnd(recordLog, journal.agentId, place));
  if (!place || !end) throw new UnreadableValueError(`the end of run ${runId} is not in the log`);
  const isAlone = selfContained.has(envelopeKeyOf(end.input));
  const output = isAlone ? readAlone(recordLog, journal.agentId, end) : readInLane(recordLog, journal.agentId, end);
  const { usage, digest } = end;
  return withoutUndefined({ output: await output, usage, digest });
}

/** Finds the end of a run. Its position in the index can be slightly too low. */
async function findEnd(
  recordLog: RecordLog,
  agentId: string,
  [version, position]: CheckpointPosition,
): Promise<RunEnd | undefined> {
  for await (const entry of recordLog.read(agentId, { after: position - 1 })) {
    // A later pruning record can contain the end.
    const restated = pruningIn([entry])?.restated ?? [];
    const records = [entry, ...restated].flatMap((found) => found.records as readonly AgentRecord[]);
    const end = records.flatMap(endIn).find((found) => found.version === version);
    if (end) return end;
  }
  return undefined;
}

type RunEnd = Pick<CheckpointRecord, "version" | "input" | "usage" | "digest">;

function endIn(record: AgentRecord): readonly RunEnd[] {
  if (record.kind === "checkpoint") return [record];
  return record.kind === "ended" ? [{ ...record, input: record.output }] : [];
}

async function readAlone(recordLog: RecordLog, agentId: string, end: RunEnd): Promise<unknown> {
  const references = new Map<string, BlobCell>();
  addBlobReference(end.input, references);
  return (await AgentLog.ofValues(recordLog, agentId, references)).readValue(end.input);
}

async function readInLane(recordLog: RecordLog, agentId: string, { input, version }: RunEnd): Promise<unknown> {
  const log = await AgentLog.read(recordLog, agentId);
  const point = log.index.checkpoints.get(version);
  const state = point && foldTo(log.index, point);
  if (!state) throw new UnreadableValueError(`the lane to checkpoint version ${version} is not in the log`);
  return log.reader(state).read(input);
}
