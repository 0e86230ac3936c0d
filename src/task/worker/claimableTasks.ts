import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { isUnreadable } from "../stored/isUnreadable.ts";
import type { TaskLogs } from "../stored/TaskLogs.ts";

/** A task that nobody has and that a worker may take. */
export interface ClaimableTask {
  readonly taskId: string;
  readonly taskName: string;
  /** `in_progress`: its process ended without ending it. `waiting`: what it waits for did not come in time. */
  readonly status: "queued" | "in_progress" | "waiting";
  readonly reserves: readonly FileReservation[];
  /** ISO 8601; when its status changed last. */
  readonly updatedAt: string;
  /** Whether a run of it asked for what it waits for, and takes the answer. */
  readonly asks: boolean;
}

/** First what was cut short or is overdue, then the queue. Reads summaries; the logs only of what comes before the queue. */
export async function* claimableTasks(logs: TaskLogs): AsyncGenerator<ClaimableTask> {
  for (const status of ["in_progress", "waiting", "queued"] as const) {
    for await (const summary of logs.log.list({ status })) {
      const { agentId: taskId, taskName, updatedAt, requestIds } = summary;
      if (taskName === undefined || (status === "waiting" && !isOverdue(summary, logs.clock))) continue;
      if (await isOwned(logs, taskId)) continue;
      const reserves = status === "queued" ? reservesOf(summary) : await recordedReserves(logs, taskId);
      yield { taskId, taskName, status, updatedAt, reserves: reserves ?? [], asks: requestIds.length > 0 };
    }
  }
}

function isOwned({ log }: TaskLogs, taskId: string): Promise<boolean | undefined> {
  return ifReadable(async () => (await log.owner(taskId))?.state === "alive");
}

function recordedReserves(logs: TaskLogs, taskId: string): Promise<readonly FileReservation[] | undefined> {
  return ifReadable(async () => (await logs.life(taskId)).task?.reserves);
}

/** Of a task that cannot be read nothing is known; whoever takes it meets the error. */
async function ifReadable<Known>(known: () => Promise<Known>): Promise<Known | undefined> {
  try {
    return await known();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

function isOverdue({ dueAt }: AgentSummary, clock: Clock): boolean {
  return dueAt !== undefined && Date.parse(dueAt) <= clock.now();
}

function reservesOf({ data }: AgentSummary): readonly FileReservation[] | undefined {
  return (data as { readonly reserves?: readonly FileReservation[] }).reserves;
}
