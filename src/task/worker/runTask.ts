import type { AIAgent } from "../../agent/AIAgent.ts";
import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import { StatusChangedError } from "../../errors/run/StatusChangedError.ts";
import { WaitExpiredError } from "../../errors/request/WaitExpiredError.ts";
import { Recovery } from "../recovery/Recovery.ts";
import type { RecoveryHandlers } from "../recovery/RecoverOptions.ts";
import { stopTask } from "../stopTask.ts";
import type { ClaimableTask } from "./claimableTasks.ts";
import type { TaskManager } from "../TaskManager.ts";
import { claimedTask, type TaskOutcome } from "./TaskOutcome.ts";
import type { TaskWorkerOptions } from "../TaskWorkerOptions.ts";

/** A task that is taken. */
export interface TakenTask extends Pick<TaskWorkerOptions, "verify"> {
  readonly tasks: TaskManager;
  readonly task: ClaimableTask;
  readonly agent: AIAgent<never, unknown>;
  readonly recovery: RecoveryHandlers;
  readonly signal: AbortSignal;
}

/**
 * Runs a task to where it stops; from a checkpoint it goes on by way of a recovery. One that cannot even begin has failed,
 * too; so has one for which nothing came in time and that no run of its own waits in.
 *
 * @throws AgentBusyError, StatusChangedError when somebody else was faster.
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
