import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { checkpointParts, partName, surelyFits } from "../../checkpoint/data/checkpointParts.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpoint/CheckpointTooLargeError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";

/** The record of a planned checkpoint. It takes the next version, and the journal knows of its id and of the end it makes. */
export function checkpointRecord(
  { state: { iteration, progress, progressSummary }, usage }: Pick<AgentRun, "state" | "usage">,
  { node, id, version: given, inputType, trigger, unresolved, status, end, joined, ended }: CheckpointPlan,
  { journal, lane, run: { run: runId, digest }, input }: Recording,
): CheckpointRecord {
  const version = given ?? journal.nextVersion;
  journal.nextVersion = version + 1;
  // The position of an append is known once it is made; it is the next.
  if (id !== undefined) journal.named.set(id, [version, journal.position + 1]);
  if (status) journal.runs.set(runId, [version, journal.position + 1]);
  return withoutUndefined({
    kind: "checkpoint",
    lane,
    version,
    id,
    at: journal.clock.now(),
    node,
    input,
    inputType,
    unresolved,
    joined,
    ended,
    iteration,
    usage,
    progress,
    summary: progressSummary,
    status,
    digest: status && digest,
    ...end,
    trigger,
  });
}

/** Where a checkpoint is recorded, and its stored input. */
interface Recording {
  readonly journal: Journal;
  readonly lane: number;
  readonly run: RunRecord;
  readonly input: StoredValue;
}

/** What is recorded with the end of a run beside its output. */
export type CompletionData = Pick<CheckpointRecord, "verification" | "files">;

/** A checkpoint that is about to be saved. */
export interface CheckpointPlan {
  readonly node: string;
  readonly input: unknown;
  readonly id?: string;
  readonly version?: number;
  readonly inputType?: string;
  /** Why it is made, where that does not follow from the rest. */
  readonly trigger?: string;
  readonly unresolved?: true;
  readonly status?: "completed";
  /** The version of the fork whose branches were joined. */
  readonly joined?: number;
  /** A nested line has ended: `input` is its output. */
  readonly ended?: true;
  readonly end?: CompletionData;
  /** True where no visit has begun and not ended: a snapshot may stand here. */
  readonly boundary?: true;
}

/** What a refusal of its input calls it. */
export function subjectOf({ node, unresolved, status, ended }: CheckpointPlan): string {
  if (ended) return "the output of a branch";
  if (status) return "the output of the run";
  return `the ${unresolved ? "output" : "input"} of node ${JSON.stringify(node)}`;
}

/** The checkpoint that a lane continues from. */
export interface CheckpointHead {
  readonly version: number;
  readonly id: string;
}

/**
 * What a checkpoint itself adds is bounded; what the log has already, it only refers to.
 *
 * @param uploads how many blobs were on their way before those of this checkpoint: when it is refused, they are not put.
 * @throws CheckpointTooLargeError
 */
export function assertCheckpointFits(
  { agentId, maxCheckpointBytes, writer }: Pick<Journal, "agentId" | "maxCheckpointBytes" | "writer">,
  plan: CheckpointPlan,
  input: StoredValue,
  records: readonly AgentRecord[],
  uploads: number,
): void {
  // A record of its own, since the checkpoint takes its version only once it is known to fit.
  const own: AgentRecord = { kind: "run", run: "", input, at: 0 };
  if (surelyFits([own, ...records], writer.uploads > 0, maxCheckpointBytes)) return;
  const parts = checkpointParts([
    ...records.map((record) => ({ name: partName(record), record })),
    { name: subjectOf(plan), record: own },
  ]);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes <= maxCheckpointBytes) return;
  writer.withdrawUploads(uploads);
  throw new CheckpointTooLargeError(agentId, plan.node, parts, maxCheckpointBytes);
}
