import type { AIAgent } from "../agent/AIAgent.ts";
import { AgentBusyError } from "../errors/AgentBusyError.ts";
import { OwnershipLostError } from "../errors/OwnershipLostError.ts";
import { StatusChangedError } from "../errors/StatusChangedError.ts";
import { StopRequestedError } from "../errors/StopRequestedError.ts";
import { StorageError } from "../errors/StorageError.ts";
import { WaitExpiredError } from "../errors/WaitExpiredError.ts";
import type { StartableTask } from "./startableTasks.ts";
import type { TaskManager } from "./TaskManager.ts";
import type { TaskOutcome } from "./TaskOutcome.ts";
import type { TaskWorkerOptions } from "./TaskWorker.ts";

/** A task that is taken. */
export interface TakenTask extends Pick<TaskWorkerOptions, "verify"> {
  readonly tasks: TaskManager;
  readonly task: StartableTask;
  readonly agent: AIAgent<never, unknown>;
  readonly signal: AbortSignal;
}

/**
 * Runs a task to where it stops. One that cannot even begin has failed, too; so has one for which nothing came in time and
 * that no run of its own waits in.
 *
 * @throws AgentBusyError, StatusChangedError when somebody else was faster.
 */
export async function runTask({ tasks, task, agent, signal, verify }: TakenTask): Promise<TaskOutcome> {
  const { taskId, status } = task;
  if (status === "waiting" && !task.asks) return failTask(tasks, task, new WaitExpiredError(taskId));
  try {
    const result = await agent.resume({
      agentId: taskId,
      signal,
      onlyIf: status === "waiting" ? ["waiting"] : ["queued", "in_progress"],
      ...(verify && { verify: (output) => verify(output, taskId) }),
    });
    if (result.status !== "completed") return { ...takenTask(task), outcome: result.status };
    return { ...takenTask(task), outcome: "completed", output: result.output };
  } catch (error) {
    if (error instanceof AgentBusyError || error instanceof StatusChangedError) throw error;
    if (signal.aborted || isOutside(error)) return { ...takenTask(task), outcome: "interrupted", error };
    return failTask(tasks, task, error);
  }
}

/** A run records its own failure once it has begun; what kept a task from beginning is recorded here. */
export async function failTask(tasks: TaskManager, task: StartableTask, error: unknown): Promise<TaskOutcome> {
  const { taskId } = task;
  const status = (await tasks.get(taskId))?.status;
  if (status === "queued") await tasks.start(taskId);
  if (status === "queued" || status === "in_progress" || status === "waiting") await tasks.fail(taskId, error);
  return { ...takenTask(task), outcome: "failed", error };
}

function takenTask({ taskId, taskName, status }: StartableTask) {
  return { taskId, taskName, recovered: status === "in_progress" };
}

/** Whether a run rejected for no fault of its own. */
function isOutside(error: unknown): boolean {
  return error instanceof StopRequestedError || error instanceof OwnershipLostError || error instanceof StorageError;
}
