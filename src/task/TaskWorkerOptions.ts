import { z } from "zod";
import { AIAgent } from "../agent/AIAgent.ts";
import {
  numberFrom,
  customSchema,
  functionSchema,
  abortSignalSchema,
  integerFrom,
  objectWithMethods,
} from "../internal/options/optionSchemas.ts";
import type { FileReservations } from "./worker/FileReservations.ts";
import { recoverySchema, type RecoveryHandlers } from "./recovery/RecoverOptions.ts";
import type { TaskManager } from "./TaskManager.ts";
import type { TaskOutcome } from "./worker/TaskOutcome.ts";

/**
 * What a worker works on, and with what. A task that goes on from a checkpoint is recovered: without an
 * `onEnvironmentMismatch` one whose environment is not as it was is paused, with what was found as its reason.
 */
export interface TaskWorkerOptions extends RecoveryHandlers {
  /** Where the tasks are. */
  readonly tasks: TaskManager;
  /** The agent for each task name, or one for all. They must have Persistence with the storage of `tasks`. Tasks of other names are left. */
  readonly agents: Readonly<Record<string, AIAgent<never, unknown>>> | AIAgent<never, unknown>;
  /** How many tasks it runs at the same time. Default 1. */
  readonly concurrency?: number | undefined;
  /**
   * Looks at an output before its task is completed; the list that it gives is kept as the task's verification results. When it
   * rejects, the task fails, and a retry goes on from before its last node. Default: nothing is verified.
   */
  readonly verify?:
    | ((output: unknown, taskId: string) => readonly unknown[] | PromiseLike<readonly unknown[]>)
    | undefined;
  /** Who may touch which files. Default: the tasks of this worker keep out of each other's way. */
  readonly reservations?: FileReservations | undefined;
  /** Is told what came of each task, after it is recorded. What it throws becomes a warning of the process. */
  readonly onOutcome?: ((outcome: TaskOutcome) => void | PromiseLike<void>) | undefined;
}

/** How long a worker works. */
export interface WorkOptions {
  /** Aborting it interrupts the tasks that run; they stay in progress, for a worker to recover. */
  readonly signal?: AbortSignal | undefined;
  /** How often it looks for more when there is nothing to do, in milliseconds. Absent: it ends then. */
  readonly pollMs?: number | undefined;
}

function isAgents(value: unknown): boolean {
  if (value instanceof AIAgent) return true;
  return Object(value) === value && Object.values(value as object).every((agent) => agent instanceof AIAgent);
}

/** What a worker may be given. */
export const workerSchema: z.ZodType = z
  .object({
    tasks: objectWithMethods<TaskManager>("claimable", "get"),
    agents: customSchema("an agent, or an object with an agent for each task name", isAgents),
    concurrency: integerFrom(1).optional(),
    verify: functionSchema().optional(),
    reservations: objectWithMethods<FileReservations>("acquire").optional(),
    onOutcome: functionSchema().optional(),
  })
  .and(recoverySchema);

/** What `run` of a worker may be given. */
export const workSchema: z.ZodType = z.object({
  signal: abortSignalSchema.optional(),
  pollMs: numberFrom(0).optional(),
});
