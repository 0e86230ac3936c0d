import type { z } from "zod";
import { AIAgent } from "../../agent/AIAgent.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import type { StorageError } from "../../errors/storageErrors.ts";
import {
  abortSignalSchema,
  customSchema,
  functionSchema,
  integerFrom,
  numberFrom,
  objectWithMethods,
  plainObject,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { ClaimableTask } from "../queue/claimableTasks.ts";
import { type QueueLimits, queuesSchema } from "../queue/QueueTurns.ts";
import type { TaskManager } from "../queue/TaskManager.ts";
import { handlerOptions, type RecoveryHandlers } from "../recovery/RecoverOptions.ts";
import type { FileReservations } from "./FileReservations.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";

/**
 * The tasks, agents and handlers of a worker. The worker recovers tasks with a checkpoint. Without
 * `onEnvironmentMismatch`, the worker pauses a task whose environment differs. The pause reason lists the mismatches.
 */
export interface TaskWorkerOptions extends RecoveryHandlers {
  readonly tasks: TaskManager;
  /** The agent for each task name, or for all. Agents need Persistence with this storage. Ignores other tasks. */
  readonly agents: Readonly<Record<string, AIAgent<never, unknown>>> | AIAgent<never, unknown>;
  /** The queues that this worker serves, with their limits over all workers. Defaults to no queues. */
  readonly queues?: Readonly<Record<string, QueueLimits>> | undefined;
  /** How many tasks run at the same time. Defaults to 1. */
  readonly concurrency?: number | undefined;
  /**
   * Verifies an output before its task completes. The returned list is stored as the verification results of the task.
   * If the function rejects, the task fails, and a retry repeats the last node. Defaults to no verification.
   */
  readonly verify?:
    | ((output: unknown, taskId: string) => readonly unknown[] | PromiseLike<readonly unknown[]>)
    | undefined;
  /**
   * How often a task may start or continue without progress. After more attempts, the task fails with
   * `too_many_attempts`. The log counts all attempts, even if their process ended. Any recorded progress resets the
   * count. Defaults to 5.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The delay before the third attempt without progress, in milliseconds. The delay doubles with each further attempt,
   * up to 64 times the first delay. The second attempt is immediate. Defaults to 1,000.
   */
  readonly attemptDelayMs?: number | undefined;
  /** Defaults to reservations among the tasks of this worker. */
  readonly reservations?: FileReservations | undefined;
  /**
   * Receives the outcome of each task after the outcome was recorded. If the function throws, a process warning is
   * emitted.
   */
  readonly onOutcome?: ((outcome: TaskOutcome) => unknown) | undefined;
  /** Receives the events of the worker itself. If the function throws, a process warning is emitted. */
  readonly onEvent?: ((event: TaskWorkerEvent) => unknown) | undefined;
}

/** An event of a worker. New types may be added. */
export type TaskWorkerEvent =
  /** The storage was unavailable for a poll or a watch. The worker polls again after `retryAfterMs` milliseconds. */
  | { readonly type: "storage_failed"; readonly error: StorageError; readonly retryAfterMs: number }
  /** A poll succeeded again, `outageMs` milliseconds after the first failed poll. */
  | { readonly type: "storage_recovered"; readonly outageMs: number }
  /**
   * The due ticks of a schedule could not be decided, for example because its log is damaged. The worker tries again at
   * its next poll, and reports each failure once.
   */
  | { readonly type: "schedule_failed"; readonly scheduleId: string; readonly error: unknown };

/** Options of `TaskWorker.run`. */
export interface WorkOptions {
  /**
   * Interrupts the running tasks when the signal aborts. Interrupted tasks stay in progress until a worker recovers
   * them.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * How often an idle worker looks for tasks, in milliseconds. With this option, the worker survives storage outages,
   * and reports them to `onEvent`. Without this option, `run` resolves when no task is left, and rejects if the storage
   * fails.
   */
  readonly pollMs?: number | undefined;
}

export const workerSchema: z.ZodType = handlerOptions({
  tasks: objectWithMethods<TaskManager>("claimable", "get", "watch"),
  agents: customSchema("an agent, or an object with an agent for each task name", isAgents),
  queues: queuesSchema.optional(),
  concurrency: integerFrom(1).optional(),
  maxAttempts: integerFrom(1).optional(),
  attemptDelayMs: numberFrom(0).optional(),
  verify: functionSchema().optional(),
  reservations: objectWithMethods<FileReservations>("acquire").optional(),
  onOutcome: functionSchema().optional(),
  onEvent: functionSchema().optional(),
});

export const workSchema: z.ZodType = strictOptions(() => ({
  signal: abortSignalSchema.optional(),
  pollMs: numberFrom(0).optional(),
}));

function isAgents(value: unknown): boolean {
  if (value instanceof AIAgent) return true;
  const agents = plainObject.safeParse(value).data;
  return agents !== undefined && Object.values(agents).every((agent) => agent instanceof AIAgent);
}

/** The outcome of a task that a worker found. */
export type TaskOutcome = {
  readonly taskId: string;
  readonly taskName: string;
  /** Whether the task was already in progress when the worker claimed it, for example after a crash. */
  readonly recovered: boolean;
} & (
  | { readonly outcome: "completed"; readonly output: unknown }
  | { readonly outcome: "waiting" }
  /**
   * `error` is the reason why the task was not resumed, and has the same text as the pause reason. `undefined` if the
   * run itself paused.
   */
  | { readonly outcome: "paused"; readonly error?: unknown }
  /** The run rejected. The data of the task says whether the task may be retried. */
  | { readonly outcome: "failed"; readonly error: unknown }
  /** The task was still queued at its `expiresAt`, and is cancelled. */
  | { readonly outcome: "expired" }
  /**
   * The worker has no agent for the task's name, and leaves the task unchanged. Each worker reports such a task once.
   */
  | { readonly outcome: "skipped" }
  /**
   * The run ended for a reason outside the task: the worker was stopped; the task was paused, cancelled or taken over
   * from outside; the storage failed; the log of the task or of its queue is damaged; or the task needs a vault.
   */
  | { readonly outcome: "interrupted"; readonly error: unknown }
);

export function claimedTask({ taskId, taskName, status }: ClaimableTask) {
  return { taskId, taskName, recovered: status === "in_progress" };
}

/** Returns `undefined` if no agent has the name of the task. */
export function agentForTask(
  { taskName }: ClaimableTask,
  agents: TaskWorkerOptions["agents"],
): AIAgent<never, unknown> | undefined {
  if (agents instanceof AIAgent) return agents;
  return Object.hasOwn(agents, taskName) ? agents[taskName] : undefined;
}

/** @throws FeatureNotInstalledError for an agent without Persistence. The error names the agent. */
export function assertDurable(agents: TaskWorkerOptions["agents"]): void {
  const named: readonly (readonly [string, AIAgent<never, unknown>])[] =
    agents instanceof AIAgent
      ? [["The agent", agents]]
      : Object.entries(agents).map(([name, agent]) => [`The agent ${JSON.stringify(name)}`, agent]);
  for (const [name, agent] of named) {
    try {
      persistence(agent);
    } catch (error) {
      if (!(error instanceof FeatureNotInstalledError)) throw error;
      throw new FeatureNotInstalledError(error.feature, `${name} of the worker`);
    }
  }
}

/** Calls a listener. Its errors become process warnings. */
export async function safely(when: string, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    warn("listener_failed", `The worker's listener failed ${when}: ${reasonOf(error)}`);
  }
}
