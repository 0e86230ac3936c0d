import { StatusChangedError } from "../errors/StatusChangedError.ts";
import type { StartableTask } from "./startableTasks.ts";
import type { TaskManager } from "./TaskManager.ts";
import { takenTask, type TaskOutcome } from "./TaskOutcome.ts";

const instructions =
  "Put right what is named, or give the worker an onEnvironmentMismatch that chooses; then resume the task.";

/** A run records its own failure once it has begun; what kept a task from beginning is recorded here. */
export async function failTask(tasks: TaskManager, task: StartableTask, error: unknown): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status === "queued") await tasks.start(taskId);
  if (status === "queued" || status === "in_progress" || status === "waiting") await tasks.fail(taskId, error);
  return { ...takenTask(task), outcome: "failed", error };
}

/**
 * Pauses a task that cannot go on before somebody has settled something.
 *
 * @throws AgentBusyError, StatusChangedError when somebody else was faster.
 */
export async function holdTask(tasks: TaskManager, task: StartableTask, error: Error): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status !== task.status) throw new StatusChangedError(taskId, status, [task.status]);
  if (status !== "in_progress") await tasks.start(taskId);
  await tasks.pause(taskId, error.message, { resumeInstructions: instructions, interrupt: false });
  return { ...takenTask(task), outcome: "paused", error };
}
