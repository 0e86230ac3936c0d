import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import { inProgressData } from "../../checkpoint/state/stateDataOf.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import type { Task } from "../Task.ts";

/** The task that a life is of, its values in their stored form; `undefined` for an agent that was not created as one. */
export function storedTask(taskId: string, life: StatusState): Task | undefined {
  const summary = agentSummary(taskId, life);
  if (!summary) return undefined;
  const data = summary.status === "in_progress" ? inProgressData(life, taskId) : summary.data;
  return taskOfSummary({ ...summary, data });
}

/** The task that a summary is of, its values in their stored form; of one in progress only what its summary says. */
export function taskOfSummary(summary: AgentSummary): Task | undefined {
  const { agentId: taskId, taskName, priority = 0, status, createdAt, updatedAt, data } = summary;
  if (taskName === undefined) return undefined;
  const { inputRequest } = status === "queued" ? (data as StateData["queued"]) : summary;
  // A summary is only ever made of a life, which has the data of its status.
  return { taskId, taskName, priority, inputRequest, status, createdAt, updatedAt, data } as Task;
}
