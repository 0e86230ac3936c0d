import type { z } from "zod";
import { AIAgent } from "../../agent/AIAgent.ts";
import type { StorageError } from "../../errors/storage/StorageError.ts";
import {
  abortSignalSchema,
  customSchema,
  functionSchema,
  integerFrom,
  numberFrom,
  objectWithMethods,
  plainObject,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { TaskManager } from "../manager/TaskManager.ts";
import type { ClaimableTask } from "../manager/claimableTasks.ts";
import { handlerOptions, type RecoveryHandlers } from "../recovery/RecoverOptions.ts";
import type { FileReservations } from "./FileReservations.ts";

/**
 * The tasks of a worker, its agents and its handlers. The worker recovers a task that has a checkpoint. Without
 * `onEnvironmentMismatch`, it pauses a task whose environment differs; the pause reason lists the mismatches.
 */
export interface TaskWorkerOptions extends RecoveryHandlers {
  readonly tasks: TaskManager;
  /**
   * The agent for each task name, or one agent for all. They need Persistence with the storage of `tasks`. The worker
   * leaves tasks of other names alone.
   */
  readonly agents: Readonly<Record<string, AIAgent<never, unknown>>> | AIAgent<never, unknown>;
  /** How many tasks run at the same time. Default 1. */
  readonly concurrency?: number | undefined;
  /**
   * Verifies an output before its task completes; the returned list is stored as the task's verification results. If it
   * rejects, the task fails, and a retry repeats the last node. Default: no verification.
   */
  readonly verify?:
    | ((output: unknown, taskId: string) => readonly unknown[] | PromiseLike<readonly unknown[]>)
    | undefined;
  /**
   * How often a task may be begun or continued without getting further; then it fails with `too_many_attempts`. Its log counts
   * them, those included that ended with their process. Any recorded progress starts the count anew. Default 5.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * Milliseconds before the third attempt at one place; they double with each further one, up to 64 times as long. The second
   * attempt is made at once. Default 1,000.
   */
  readonly attemptDelayMs?: number | undefined;
  /** Default: the tasks of this worker reserve files among themselves. */
  readonly reservations?: FileReservations | undefined;
  /** Gets the outcome of each task after it was recorded. Its errors become process warnings. */
  readonly onOutcome?: ((outcome: TaskOutcome) => void | PromiseLike<void>) | undefined;
  /** Gets what happens to the worker itself. Its errors become process warnings. */
  readonly onEvent?: ((event: TaskWorkerEvent) => void | PromiseLike<void>) | undefined;
}

/** What happens to a worker. New types may be added. */
export type TaskWorkerEvent =
  /** A poll failed, because the storage could not be used. The worker polls again after `retryAfterMs` milliseconds. */
  | { readonly type: "storage_failed"; readonly error: StorageError; readonly retryAfterMs: number }
  /** A poll succeeded again, `outageMs` milliseconds after the first one that failed. */
  | { readonly type: "storage_recovered"; readonly outageMs: number };

/** Options of `TaskWorker.run`. */
export interface WorkOptions {
  /** Aborting it interrupts the running tasks; they stay in progress, for a worker to recover. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How often an idle worker looks for tasks, in milliseconds. The worker then survives outages of the storage, and reports
   * them to `onEvent`. Without it, `run` resolves when no task is left, and rejects when the storage fails.
   */
  readonly pollMs?: number | undefined;
}

export const workerSchema: z.ZodType = handlerOptions({
  tasks: objectWithMethods<TaskManager>("claimable", "get", "watch"),
  agents: customSchema("an agent, or an object with an agent for each task name", isAgents),
  concurrency: integerFrom(1).optional(),
  maxAttempts: integerFrom(1).optional(),
  attemptDelayMs: numberFrom(0).optional(),
  verify: functionSchema().optional(),
  reservations: objectWithMethods<FileReservations>("acquire").optional(),
  onOutcome: functionSchema().optional(),
  onEvent: functionSchema().optional(),
});

export const workSchema: z.ZodType = strictOptions({
  signal: abortSignalSchema.optional(),
  pollMs: numberFrom(0).optional(),
});

function isAgents(value: unknown): boolean {
  if (value instanceof AIAgent) return true;
  const agents = plainObject.safeParse(value).data;
  return agents !== undefined && Object.values(agents).every((agent) => agent instanceof AIAgent);
}

/** How a worker left a task that it found. */
export type TaskOutcome = {
  readonly taskId: string;
  readonly taskName: string;
  /** Whether the task was already in progress when the worker claimed it, for example because a process crashed. */
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

export function claimedTask({ taskId, taskName, status }: ClaimableTask) {
  return { taskId, taskName, recovered: status === "in_progress" };
}
