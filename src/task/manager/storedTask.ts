import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import { inProgressData } from "../../checkpoint/state/stateDataOf.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { AgentSummary, RecordLog } from "../../storage/RecordLog.ts";
import type { Task } from "../state/Task.ts";

/** Builds a task from its folded log, with values in their stored form; `undefined` for an agent that is not a task. */
export function storedTask(taskId: string, life: StatusState): Task | undefined {
  const summary = agentSummary(taskId, life);
  if (!summary) return undefined;
  const data = summary.status === "in_progress" ? inProgressData(life, taskId) : summary.data;
  return taskOfSummary({ ...summary, data });
}

/**
 * Builds a task from its summary, with values in their stored form; `undefined` for an agent that is not a task. The
 * summary of a task in progress lacks what each step changes.
 */
export function taskOfSummary(summary: AgentSummary): Task | undefined {
  const { agentId: taskId, taskName, priority = 0, status, createdAt, updatedAt, order: cursor, data } = summary;
  if (taskName === undefined) return undefined;
  const { inputRequest } = status === "queued" ? (data as StateData["queued"]) : summary;
  // A summary has the data of its status.
  return { taskId, taskName, priority, inputRequest, status, createdAt, updatedAt, cursor, data } as Task;
}

/** Decodes the values of a task; large ones are read from their blobs. @throws UnreadableValueError, CorruptBlobError */
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

/** A stored value may have any type. */
function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
