import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { statusAfter, type StatusState } from "../../checkpoint/state/StatusState.ts";
import { inProgressData } from "../../checkpoint/state/stateDataOf.ts";
import { TaskStatus, type StateData } from "../../checkpoint/status/TaskStatus.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { AgentSummary, RecordLog } from "../../storage/RecordLog.ts";
import type { Task, TaskWithStatus } from "../state/Task.ts";
import { transitionTask } from "../state/transitionTask.ts";

/** Builds a task from its log, with values in stored form. `undefined` for other agents, and if it may not run here. */
export function storedTask(taskId: string, life: StatusState): Task | undefined {
  const summary = agentSummary(taskId, life);
  if (!summary) return undefined;
  const data = summary.status === "in_progress" ? inProgressData(life, taskId) : summary.data;
  return taskOfSummary({ ...summary, data });
}

/** Builds a task from its summary, like {@link storedTask}, without the data that each step changes. */
export function taskOfSummary(summary: AgentSummary): Task | undefined {
  const { agentId: taskId, taskName, priority = 0, status, createdAt, updatedAt, order: cursor, controls } = summary;
  if (taskName === undefined || !statuses.has(status)) return undefined;
  const { inputRequest } = status === "queued" ? ((summary.data ?? {}) as StateData["queued"]) : summary;
  const data = status === "failed" ? withRetry(summary) : summary.data;
  return { taskId, taskName, priority, inputRequest, status, createdAt, updatedAt, cursor, ...controls, data } as Task;
}

/** Adds the time of the retry to a failed task. The due time of the summary is this time. */
function withRetry({ data, dueAt }: AgentSummary): unknown {
  return dueAt === undefined ? data : { ...(data as StateData["failed"]), retryAt: dueAt };
}

const statuses: ReadonlySet<string> = new Set(Object.values(TaskStatus));

/** Decodes the values of a task. Reads large values from their blobs. @throws UnreadableValueError, CorruptBlobError */
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

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** A task before a status change, and the records of the change. */
interface PlannedTransition<Status extends TaskStatus> {
  readonly before: Task;
  readonly life: StatusState;
  /** The generation of the owner that will append the records. */
  readonly generation: number;
  readonly records: readonly AgentRecord[];
  readonly to: Status;
}

/**
 * Returns the task after the records, with values in stored form. Cancelling pauses a task in progress and queues a
 * failed task before its retry. Every other change is one transition.
 *
 * @throws TransitionNotAllowedError, InvalidInputError
 */
export function applyTransition<Status extends TaskStatus>(planned: PlannedTransition<Status>): TaskWithStatus<Status> {
  const { before, to } = planned;
  const passed = tasksOf(planned);
  const via = to === "cancelled" ? passed.find(({ status }) => status === statusBeforeCancelled(before)) : undefined;
  const from = via ? transitionTask(before, transitionTo(via)) : before;
  const reached = passed.find((task): task is TaskWithStatus<Status> => task.status === to);
  if (!reached) throw new TypeError(`The records do not lead to the status ${to}.`);
  return transitionTask<Status>(from, { to, at: reached.updatedAt, data: reached.data as StateData[Status] });
}

function tasksOf({ before, life: start, generation, records }: PlannedTransition<TaskStatus>): readonly Task[] {
  let life = start;
  return records.flatMap((record) => {
    const { current } = life;
    life = statusAfter(life, record, generation);
    return life.current === current ? [] : (storedTask(before.taskId, life) ?? []);
  });
}

function statusBeforeCancelled({ status, data }: Task): TaskStatus | undefined {
  if (status === "in_progress") return "paused";
  return status === "failed" && data.retryAt !== undefined ? "queued" : undefined;
}

function transitionTo({ status, updatedAt, data }: Task) {
  return { to: status, at: updatedAt, data };
}
