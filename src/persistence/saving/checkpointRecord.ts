import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { checkpointParts, partName, surelyFits } from "../../checkpoint/data/checkpointParts.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";

export function checkpointRecord(
  { state: { iteration, progress, progressSummary }, usage }: Pick<AgentRun, "state" | "usage">,
  { node, id, version: given, inputType, trigger, unresolved, status, end, joined, ended, foreseen }: CheckpointPlan,
  { journal, lane, run: { run: runId, digest }, input }: Recording,
): CheckpointRecord {
  const version = given ?? journal.nextVersion;
  journal.nextVersion = version + 1;
  // The append gets the next position.
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
    iteration: foreseen ? iteration + 1 : iteration,
    usage,
    progress,
    summary: progressSummary,
    status,
    digest: status && digest,
    ...end,
    trigger,
  });
}

interface Recording {
  readonly journal: Journal;
  readonly lane: number;
  readonly run: RunRecord;
  readonly input: StoredValue;
}

export type CompletionData = Pick<CheckpointRecord, "verification" | "files">;

export interface CheckpointPlan {
  readonly node: string;
  readonly input: unknown;
  readonly id?: string;
  readonly version?: number;
  readonly inputType?: string;
  /** Why the checkpoint was made, if the other fields do not show it. */
  readonly trigger?: string;
  readonly unresolved?: true;
  readonly status?: "completed";
  readonly joined?: number;
  /** True if a branch or sub-agent has finished. `input` is then its output. */
  readonly ended?: true;
  readonly end?: CompletionData;
  /** True if a resume continues after the running node, which then counts as completed. */
  readonly foreseen?: true;
  /** True between two nodes, where a snapshot can be made. */
  readonly boundary?: true;
}

export function subjectOf({ node, unresolved, status, ended }: CheckpointPlan): string {
  if (ended) return "the output of a branch";
  if (status) return "the output of the run";
  return `the ${unresolved ? "output" : "input"} of node ${JSON.stringify(node)}`;
}

export interface CheckpointHead {
  readonly version: number;
  readonly id: string;
}

/**
 * Rejects a checkpoint with too much new data, and stores no blobs of a rejected checkpoint after the first `uploads`.
 *
 * @throws CheckpointTooLargeError
 */
export function assertCheckpointFits(
  { agentId, maxCheckpointBytes, writer }: Pick<Journal, "agentId" | "maxCheckpointBytes" | "writer">,
  plan: CheckpointPlan,
  input: StoredValue,
  records: readonly AgentRecord[],
  uploads: number,
): void {
  // The size of the input is measured in another record, because the checkpoint has no version yet.
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
