import { checkpointParts, partName, surelyFits } from "../../checkpoint/data/checkpointParts.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpoint/CheckpointTooLargeError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { subjectOf, type CheckpointPlan } from "./checkpointRecord.ts";

/**
 * What a checkpoint itself adds is bounded; what the log has already, it only refers to.
 *
 * @param uploads how many blobs were on their way before those of this checkpoint: when it is refused, they are not put.
 * @throws CheckpointTooLargeError
 */
export function assertCheckpointFits(
  { agentId, maxCheckpointBytes, writer }: Journal,
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
