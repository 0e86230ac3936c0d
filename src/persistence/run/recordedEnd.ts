import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import type { CheckpointPosition } from "../../checkpoint/records/SnapshotRecord.ts";
import { pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

const selfContained: ReadonlySet<string | undefined> = new Set([undefined, "$plain", "$rich", "$blob"]);

interface RecordedEnd {
  readonly output: unknown;
  readonly usage?: ModelUsage;
  readonly digest?: string;
}

/** Returns the end of a finished run. Reads only the end, or the whole log if the output is a message. */
export async function recordedEnd(recordLog: RecordLog, journal: Journal, runId: string): Promise<RecordedEnd> {
  const place = journal.runs.get(runId);
  const end = place && (await findEnd(recordLog, journal.agentId, place));
  if (!place || !end) throw new UnreadableValueError(`the end of run ${runId} is not in the log`);
  const isAlone = selfContained.has(envelopeKeyOf(end.input));
  const output = isAlone ? readAlone(recordLog, journal.agentId, end) : readInLane(recordLog, journal.agentId, end);
  const { usage, digest } = end;
  return withoutUndefined({ output: await output, usage, digest });
}

/** The known position may be slightly too low, because several appends may be in flight. */
async function findEnd(
  recordLog: RecordLog,
  agentId: string,
  [version, position]: CheckpointPosition,
): Promise<RunEnd | undefined> {
  for await (const entry of recordLog.read(agentId, { after: position - 1 })) {
    // A later append restates a pruned append.
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
