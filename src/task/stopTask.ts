import { EnvironmentMismatchError } from "../errors/checkpoint/EnvironmentMismatchError.ts";
import { OwnershipLostError } from "../errors/storage/OwnershipLostError.ts";
import { RecoveryRefusedError } from "../errors/checkpoint/RecoveryRefusedError.ts";
import { StatusChangedError } from "../errors/run/StatusChangedError.ts";
import { StopRequestedError } from "../errors/run/StopRequestedError.ts";
import { StorageError } from "../errors/storage/StorageError.ts";
import { isUnreadable } from "./stored/isUnreadable.ts";
import type { ClaimableTask } from "./worker/claimableTasks.ts";
import type { TaskManager } from "./TaskManager.ts";
import { claimedTask, type TaskOutcome } from "./worker/TaskOutcome.ts";

const instructions =
  "Put right what is named, or give the worker an onEnvironmentMismatch that chooses; then resume the task.";

/**
 * What comes of a task that cannot begin or go on: what has to be settled by somebody pauses it, everything else fails it.
 * What is no fault of its own leaves it as it is, and so does what cannot be recorded.
 *
 * @throws AgentBusyError, StatusChangedError when somebody else was faster.
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

/** Whether a run rejected for no fault of its own. */
function isOutside(error: unknown): boolean {
  return error instanceof StopRequestedError || error instanceof OwnershipLostError || error instanceof StorageError;
}

/** A run records its own failure once it has begun; what kept a task from beginning is recorded here. */
async function failTask(tasks: TaskManager, task: ClaimableTask, error: unknown): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status === "queued") await tasks.start(taskId);
  if (status === "queued" || status === "in_progress" || status === "waiting") await tasks.fail(taskId, error);
  return { ...claimedTask(task), outcome: "failed", error };
}

/** Pauses a task that cannot go on before somebody has settled something. */
async function holdTask(tasks: TaskManager, task: ClaimableTask, error: Error): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status !== task.status) throw new StatusChangedError(taskId, status, [task.status]);
  if (status !== "in_progress") await tasks.start(taskId);
  await tasks.pause(taskId, error.message, { resumeInstructions: instructions, interrupt: false });
  return { ...claimedTask(task), outcome: "paused", error };
}
