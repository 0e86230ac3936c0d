import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/unreadableSummary.ts";
import type { TaskLogs } from "./TaskLogs.ts";

/** A task without an owner that a worker may claim. */
export interface ClaimableTask {
  readonly taskId: string;
  readonly taskName: string;
  /** `in_progress`: its process ended before the task did. `waiting`: its time to wait is over. */
  readonly status: "queued" | "in_progress" | "waiting";
  readonly reserves: readonly FileReservation[];
  /** ISO 8601; the time of the last status change. */
  readonly updatedAt: string;
  /** Whether its run has open requests that an answer can resolve. */
  readonly asks: boolean;
}

/** Yields interrupted tasks, then overdue ones, then the queue. Queued tasks are read from their summaries alone. */
export async function* claimableTasks(logs: TaskLogs): AsyncGenerator<ClaimableTask> {
  for (const status of ["in_progress", "waiting", "queued"] as const) {
    for await (const summary of logs.log.list({ status })) {
      const task = await claimable(logs, summary, status);
      if (task) yield task;
    }
  }
}

async function claimable(logs: TaskLogs, summary: AgentSummary, status: ClaimableTask["status"]) {
  const { agentId: taskId, taskName, updatedAt, requestIds } = summary;
  if (taskName === undefined || !isDue(summary, logs.clock) || (await isOwned(logs, taskId))) return undefined;
  const task = { taskId, taskName, status, updatedAt, asks: requestIds.length > 0 };
  if (status === "queued") return { ...task, reserves: reservesOf(summary) ?? [] };
  const life = await ifReadable(() => logs.life(taskId));
  // The owner may have ended the task between the listing and the look at the owner.
  if (life && life.current?.status !== status) return undefined;
  return { ...task, reserves: life?.task?.reserves ?? [] };
}

function isOwned({ log }: TaskLogs, taskId: string): Promise<boolean | undefined> {
  return ifReadable(async () => (await log.owner(taskId))?.state === "alive");
}

/** `undefined` for a task that cannot be read: the worker that claims it gets the error. */
async function ifReadable<Known>(known: () => Promise<Known>): Promise<Known | undefined> {
  try {
    return await known();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

function isDue({ status, dueAt }: AgentSummary, clock: Clock): boolean {
  if (status !== "waiting") return true;
  return dueAt !== undefined && Date.parse(dueAt) <= clock.now();
}

function reservesOf({ data }: AgentSummary): readonly FileReservation[] | undefined {
  return (data as { readonly reserves?: readonly FileReservation[] }).reserves;
}

/** Whether an error means that one task cannot be read, and says nothing about the others. */
export function isUnreadable(error: unknown): boolean {
  return isAboutOneAgent(error) || error instanceof CorruptBlobError || error instanceof UnreadableValueError;
}
