import type { AIAgent } from "../../agent/AIAgent.ts";
import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import { StatusChangedError } from "../../errors/run/StatusChangedError.ts";
import { WaitExpiredError } from "../../errors/request/WaitExpiredError.ts";
import { Recovery } from "../recovery/Recovery.ts";
import type { RecoveryHandlers } from "../recovery/RecoverOptions.ts";
import { stopTask } from "./stopTask.ts";
import type { ClaimableTask } from "../manager/claimableTasks.ts";
import type { TaskManager } from "../manager/TaskManager.ts";
import { claimedTask, type TaskOutcome } from "./TaskOutcome.ts";
import type { TaskWorkerOptions } from "./TaskWorkerOptions.ts";

/** A task that a worker claimed. */
export interface TakenTask extends Pick<TaskWorkerOptions, "verify"> {
  readonly tasks: TaskManager;
  readonly task: ClaimableTask;
  readonly agent: AIAgent<never, unknown>;
  readonly recovery: RecoveryHandlers;
  readonly signal: AbortSignal;
}

/**
 * Runs a task until it ends, waits or is paused. A task with a checkpoint is recovered. A task that cannot begin fails, and
 * so does one whose time to wait is over and that no run drives.
 *
 * @throws AgentBusyError, StatusChangedError when another process claimed or changed the task first.
 */
export async function runTask(taken: TakenTask): Promise<TaskOutcome> {
  const { tasks, task, signal } = taken;
  if (task.status === "waiting" && !task.asks) return stopTask(tasks, task, new WaitExpiredError(task.taskId));
  try {
    const result = await recovered(taken);
    if (result.status !== "completed") return { ...claimedTask(task), outcome: result.status };
    return { ...claimedTask(task), outcome: "completed", output: result.output };
  } catch (error) {
    if (error instanceof AgentBusyError || error instanceof StatusChangedError) throw error;
    if (signal.aborted) return { ...claimedTask(task), outcome: "interrupted", error };
    return stopTask(tasks, task, error);
  }
}

async function recovered({ task, agent, recovery, signal, verify }: TakenTask) {
  const { taskId, status } = task;
  const resume = {
    ifStatus: status === "waiting" ? (["waiting"] as const) : (["queued", "in_progress"] as const),
    ...(verify && { verify: (output: unknown) => verify(output, taskId) }),
  };
  return (await new Recovery(agent, { ...recovery, agentId: taskId, signal }, resume).execute()).result;
}
