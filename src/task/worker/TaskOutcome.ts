import type { ClaimableTask } from "./claimableTasks.ts";

/** What came of a task that a worker found. */
export type TaskOutcome = {
  readonly taskId: string;
  readonly taskName: string;
  /** Whether it had been cut short in another process. */
  readonly recovered: boolean;
} & (
  | { readonly outcome: "completed"; readonly output: unknown }
  | { readonly outcome: "waiting" }
  /** `error`: why it could not go on from where it was; the task's reason says it, too. Absent: somebody moved it. */
  | { readonly outcome: "paused"; readonly error?: unknown }
  /** Its run rejected; the task says whether it may be retried. */
  | { readonly outcome: "failed"; readonly error: unknown }
  /** The worker has no agent for its name: it stays where it is. Told once by each worker. */
  | { readonly outcome: "skipped" }
  /** The worker was stopped, somebody paused or cancelled it, its storage failed, or its log is damaged: it stays as it is. */
  | { readonly outcome: "interrupted"; readonly error: unknown }
);

/** What each outcome says of its task. */
export function claimedTask({ taskId, taskName, status }: ClaimableTask) {
  return { taskId, taskName, recovered: status === "in_progress" };
}
