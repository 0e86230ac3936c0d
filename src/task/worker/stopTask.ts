import { EnvironmentMismatchError } from "../../errors/checkpoint/EnvironmentMismatchError.ts";
import { OwnershipLostError } from "../../errors/storage/OwnershipLostError.ts";
import { RecoveryRefusedError } from "../../errors/checkpoint/RecoveryRefusedError.ts";
import { StatusChangedError } from "../../errors/run/StatusChangedError.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { StorageError } from "../../errors/storage/StorageError.ts";
import { isUnreadable } from "../manager/isUnreadable.ts";
import type { ClaimableTask } from "../manager/claimableTasks.ts";
import type { TaskManager } from "../manager/TaskManager.ts";
import { claimedTask, type TaskOutcome } from "./TaskOutcome.ts";

const instructions =
  "Fix the mismatches that the reason names, or give the worker an onEnvironmentMismatch; then resume the task.";

/**
 * Records that a task cannot begin or continue. A task that needs a decision is paused; any other fails. The task stays
 * unchanged when the cause lies outside it, and when its log cannot be read or written.
 *
 * @throws AgentBusyError, StatusChangedError when another process claimed or changed the task first.
 */
export async function stopTask(tasks: TaskManager, task: ClaimableTask, error: unknown): Promise<TaskOutcome> {
  if (isOutside(error)) return { ...claimedTask(task), outcome: "interrupted", error };
  const isUnsettled = error instanceof EnvironmentMismatchError || error instanceof RecoveryRefusedError;
  try {
    return isUnsettled ? await holdTask(tasks, task, error) : await failTask(tasks, task, error);
  } catch (unrecorded) {
    if (isOutside(unrecorded)) return { ...claimedTask(task), outcome: "interrupted", error: unrecorded };
    if (!isUnreadable(unrecorded)) throw unrecorded;
    return { ...claimedTask(task), outcome: "interrupted", error };
  }
}

/** Whether the cause of an error lies outside the task. */
function isOutside(error: unknown): boolean {
  return error instanceof StopRequestedError || error instanceof OwnershipLostError || error instanceof StorageError;
}

/** A run that has begun records its own failure; this records that a task could not begin. */
async function failTask(tasks: TaskManager, task: ClaimableTask, error: unknown): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status === "queued") await tasks.start(taskId);
  if (status === "queued" || status === "in_progress" || status === "waiting") await tasks.fail(taskId, error);
  return { ...claimedTask(task), outcome: "failed", error };
}

/** Pauses a task that needs a decision before it can continue. */
async function holdTask(tasks: TaskManager, task: ClaimableTask, error: Error): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status !== task.status) throw new StatusChangedError(taskId, status, [task.status]);
  if (status !== "in_progress") await tasks.start(taskId);
  await tasks.pause(taskId, error.message, { resumeInstructions: instructions, interrupt: false });
  return { ...claimedTask(task), outcome: "paused", error };
}
