import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { Task } from "../Task.ts";

/** A task with its values as they were given: a large one is read from its blob. @throws UnreadableValueError */
export async function readTask<Some extends Task>(log: RecordLog, task: Some): Promise<Some> {
  const references = new Map<string, BlobCell>();
  for (const slot of slotsOf(task)) addBlobReference(slot, references);
  const values = await AgentLog.ofValues(log, task.taskId, references);
  const read = (slot: StoredValue) => values.readValue(slot);
  const inputRequest = read(task.inputRequest);
  if (task.status === "queued") return { ...task, inputRequest, data: { ...task.data, inputRequest } };
  if (task.status !== "completed") return { ...task, inputRequest };
  const { finalOutput, filesModified, verificationResults } = task.data;
  const data = {
    ...task.data,
    finalOutput: read(finalOutput),
    filesModified: textsIn(read(filesModified)),
    verificationResults: verificationResults.map(read),
  };
  return { ...task, inputRequest, data };
}

function slotsOf(task: Task): readonly StoredValue[] {
  if (task.status !== "completed") return [task.inputRequest];
  const { finalOutput, filesModified, verificationResults } = task.data;
  return [task.inputRequest, finalOutput, filesModified, ...verificationResults];
}

/** Stored values are not to be trusted. */
function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
