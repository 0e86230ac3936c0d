import type { AIAgent } from "../../agent/AIAgent.ts";
import { EnvironmentMismatchError, RecoveryRefusedError } from "../../errors/checkpointErrors.ts";
import { WaitExpiredError } from "../../errors/requestErrors.ts";
import { StatusChangedError, StopRequestedError } from "../../errors/runErrors.ts";
import { AgentBusyError, OwnershipLostError, StorageError } from "../../errors/storageErrors.ts";
import { onAbort } from "../../internal/abortable.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { TaskManager } from "../queue/TaskManager.ts";
import { type ClaimableTask, isUnreadable } from "../queue/claimableTasks.ts";
import type { RecoveryHandlers } from "../recovery/RecoverOptions.ts";
import { Recovery } from "../recovery/Recovery.ts";
import type { Task } from "../state/Task.ts";
import { claimedTask, type TaskOutcome, type TaskWorkerOptions } from "./TaskWorkerOptions.ts";

interface TakenTask extends Pick<TaskWorkerOptions, "verify"> {
  readonly tasks: TaskManager;
  readonly task: ClaimableTask;
  readonly agent: AIAgent<never, unknown>;
  readonly recovery: RecoveryHandlers;
  readonly signal: AbortSignal;
}

/**
 * Returns a signal that aborts with the first of some signals, until `end` is called. In Node 20, each result of
 * `AbortSignal.any` leaves an entry in the signals as long as the signals live.
 */
export function followed(signals: readonly AbortSignal[]): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const ends = signals.map((signal) => onAbort(signal, () => controller.abort(signal.reason)));
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted) controller.abort(aborted.reason);
  return { signal: controller.signal, end: () => ends.forEach((end) => end()) };
}

/**
 * Runs a task until it ends, waits or pauses. Recovers a task with a checkpoint. Fails a task that cannot start, and
 * one without a run whose wait has expired.
 *
 * @throws AgentBusyError, StatusChangedError if another process was first
 */
export async function runTask(taken: TakenTask): Promise<TaskOutcome> {
  const { tasks, task, signal } = taken;
  if (task.status === "waiting" && !task.asks) return stopTask(tasks, task, new WaitExpiredError(task.taskId));
  try {
    const result = await recovered(taken);
    if (result.status !== "completed") return { ...claimedTask(task), outcome: result.status };
    return { ...claimedTask(task), outcome: "completed", output: result.output };
  } catch (thrown) {
    const error = checkable(thrown);
    if ((error instanceof AgentBusyError || error instanceof StatusChangedError) && isOf(task, error)) throw error;
    if (signal.aborted) return endOfStopped(tasks, task, error);
    return stopTask(tasks, task, error);
  }
}

/** Returns the outcome of a task whose worker was stopped. The run may have failed before the stop. */
async function endOfStopped(tasks: TaskManager, task: ClaimableTask, error: unknown): Promise<TaskOutcome> {
  const now = await tasks.get(task.taskId).catch(() => undefined);
  return { ...claimedTask(task), outcome: hasFailed(task, now) ? "failed" : "interrupted", error };
}

/** Returns a thrown value, or an error in place of a proxy whose class cannot be checked. */
function checkable(thrown: unknown): unknown {
  try {
    Object.getPrototypeOf(Object(thrown));
    return thrown;
  } catch {
    return new Error(reasonOf(thrown));
  }
}

async function recovered({ task, agent, recovery, signal, verify }: TakenTask) {
  const { taskId, status, checkpoints } = task;
  // A task that never started needs no recovery. The next owner checks whether it has started since.
  const isNew = status === "queued" && checkpoints === 0;
  const resume = {
    ifStatus: isNew ? (["queued"] as const) : resumable[status],
    ...(verify && { verify: (output: unknown) => verify(output, taskId) }),
  };
  const options = { ...recovery, agentId: taskId, signal };
  return (await new Recovery(agent, options, resume).execute({ hasCheckpoint: !isNew })).result;
}

const resumable = {
  waiting: ["waiting"],
  queued: ["queued", "in_progress"],
  in_progress: ["queued", "in_progress"],
  failed: ["failed"],
} as const;

const instructions =
  "Fix the mismatches that the reason names, or give the worker an onEnvironmentMismatch; then resume the task.";

/**
 * Records that a task cannot start or continue, unless its run has recorded this. Pauses a task that needs a decision,
 * and fails any other task. Does not change the task if the cause is outside the task, or if its log is unusable.
 *
 * @throws AgentBusyError, StatusChangedError if another process was first
 */
export async function stopTask(tasks: TaskManager, task: ClaimableTask, error: unknown): Promise<TaskOutcome> {
  const interrupted = { ...claimedTask(task), outcome: "interrupted" } as const;
  if (isLost(error) && isOf(task, error)) return { ...interrupted, error };
  const isUnsettled = error instanceof EnvironmentMismatchError || error instanceof RecoveryRefusedError;
  try {
    const now = await tasks.get(task.taskId);
    if (hasFailed(task, now)) return { ...claimedTask(task), outcome: "failed", error };
    if (isOutside(error)) return { ...interrupted, error };
    return isUnsettled ? await holdTask(tasks, task, error, now) : await failTask(tasks, task, error, now);
  } catch (unrecorded) {
    if (isOutside(unrecorded)) return { ...interrupted, error: isOutside(error) ? error : unrecorded };
    if (!isUnreadable(unrecorded)) throw unrecorded;
    return { ...interrupted, error };
  }
}

/** Returns whether an error concerns the task, not another agent that the code of the task uses. */
function isOf({ taskId }: ClaimableTask, { agentId }: { readonly agentId: string }): boolean {
  return agentId === taskId;
}

/** Returns whether a run has recorded a failure since the task was claimed. */
function hasFailed({ status, retries }: ClaimableTask, now: Task | undefined): boolean {
  return now?.status === "failed" && (status !== "failed" || now.data.retryCount !== retries);
}

function isLost(error: unknown): error is StopRequestedError | OwnershipLostError {
  return error instanceof StopRequestedError || error instanceof OwnershipLostError;
}

function isOutside(error: unknown): boolean {
  return isLost(error) || error instanceof StorageError;
}

const failable: ReadonlySet<string | undefined> = new Set(["failed", "queued", "in_progress", "waiting"]);

/** Records that a task could not start. A started run records its failures itself. */
async function failTask(
  tasks: TaskManager,
  task: ClaimableTask,
  error: unknown,
  now: Task | undefined,
): Promise<TaskOutcome> {
  const { taskId } = task;
  if (now?.status === "queued" || now?.status === "failed") await begin(tasks, now);
  if (failable.has(now?.status)) await tasks.fail(taskId, error);
  return { ...claimedTask(task), outcome: "failed", error };
}

async function begin(tasks: TaskManager, { taskId, status }: Pick<Task, "taskId" | "status">): Promise<void> {
  if (status === "failed") await tasks.retry(taskId);
  if (status !== "in_progress") await tasks.start(taskId);
}

async function holdTask(
  tasks: TaskManager,
  task: ClaimableTask,
  error: Error,
  now: Task | undefined,
): Promise<TaskOutcome> {
  const { taskId } = task;
  if (now?.status !== task.status) throw new StatusChangedError(taskId, now?.status, [task.status]);
  await begin(tasks, now);
  await tasks.pause(taskId, error.message, { resumeInstructions: instructions, interrupt: false });
  return { ...claimedTask(task), outcome: "paused", error };
}
