import type { ClaimableTask } from "../manager/claimableTasks.ts";

/** How a worker left a task that it found. */
export type TaskOutcome = {
  readonly taskId: string;
  readonly taskName: string;
  /** Whether the task was in progress when the worker claimed it: interrupted in another process. */
  readonly recovered: boolean;
} & (
  | { readonly outcome: "completed"; readonly output: unknown }
  | { readonly outcome: "waiting" }
  /** `error`: why the task could not be resumed, also the task's pause reason. Absent: its run ended as paused. */
  | { readonly outcome: "paused"; readonly error?: unknown }
  /** The run rejected; the task's data says whether it may be retried. */
  | { readonly outcome: "failed"; readonly error: unknown }
  /** The worker has no agent for the task's name and leaves the task unchanged. Reported once by each worker. */
  | { readonly outcome: "skipped" }
  /**
   * The run ended for a cause outside the task: the worker was stopped, the task was paused or cancelled from outside or
   * taken over by another owner, its storage failed, or its log is damaged.
   */
  | { readonly outcome: "interrupted"; readonly error: unknown }
);

/** The fields that every outcome has. */
export function claimedTask({ taskId, taskName, status }: ClaimableTask) {
  return { taskId, taskName, recovered: status === "in_progress" };
}
