import { z } from "zod";
import type { TaskControls } from "../../checkpoint/records/runRecords.ts";
import type { TaskStatus, FileReservation, StateData } from "../../checkpoint/status/TaskStatus.ts";
import { customSchema, nonEmptyString, numberFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

/** A stored task. Check `status` first to access the data of that status in TypeScript. */
export type Task = {
  [Status in TaskStatus]: {
    /** The id of the agent that the task drives. */
    readonly taskId: string;
    readonly taskName: string;
    /** An integer. Higher priorities run first. */
    readonly priority: number;
    /** The input of the agent's run. */
    readonly inputRequest: unknown;
    readonly status: Status;
    /** ISO 8601. */
    readonly createdAt: string;
    /** ISO 8601. The time of the last status change. */
    readonly updatedAt: string;
    /** The position of the task in a list. It never changes. Pass it as `after` to list the tasks after this task. */
    readonly cursor: string;
    readonly data: Readonly<StateData[Status]>;
  } & TaskControls;
}[TaskStatus];

/** A task with a certain status. */
export type TaskWithStatus<Status extends TaskStatus> = Extract<Task, { readonly status: Status }>;

/** The argument of `TaskManager.create`. */
export interface NewTask {
  /** The id of the agent that the task drives. Defaults to a random id. */
  readonly taskId?: string | undefined;
  /** The kind of task. A worker selects the agent by this name. */
  readonly taskName: string;
  /** The input of the agent's run, which may be any storable value. */
  readonly inputRequest: unknown;
  /** An integer. Higher priorities run first. Defaults to 0. */
  readonly priority?: number | undefined;
  /** Information for people and other tools. This library ignores the field. */
  readonly estimatedComplexity?: "low" | "medium" | "high" | undefined;
  /** The files of the task. A worker reserves all of them before it starts the task. Defaults to an empty list. */
  readonly reserves?: readonly FileReservation[] | undefined;
  /**
   * The queue of the task. Only workers that have this queue in `queues` run the task. Defaults to no queue. Every
   * worker runs tasks without a queue.
   */
  readonly queue?: string | undefined;
  /** The key of the task in its queue, such as a customer. Tasks of different keys take turns. Requires `queue`. */
  readonly key?: string | undefined;
  /** Workers do not start the task before this time, which may be in ISO 8601. Defaults to no delay. */
  readonly notBefore?: Date | string | undefined;
  /** A worker cancels the task if it has not started before this time. Defaults to no expiry. */
  readonly expiresAt?: Date | string | undefined;
  /** How often a worker retries the task after a failure. Defaults to 0. */
  readonly retries?: number | undefined;
  /**
   * The delay before the first retry in milliseconds, at most a week. The delay doubles with each retry, up to 64 times
   * the first delay. Defaults to 1,000.
   */
  readonly retryDelayMs?: number | undefined;
  /**
   * A queue has at most one task with this id. `create` returns the existing task. Use this in place of `taskId`.
   * Defaults to no id.
   */
  readonly deduplicationId?: string | undefined;
  /**
   * For how many milliseconds after the creation of a task `create` returns this task for the same `deduplicationId`.
   * Use the same window for all duplicates. Defaults to no limit, until the task is deleted. With a window, a second
   * task is possible if the storage is unavailable to one creator for longer than its lease.
   */
  readonly deduplicationWindowMs?: number | undefined;
}

export const complexitySchema: z.ZodType<"low" | "medium" | "high"> = z.enum(["low", "medium", "high"]);

export const reservationsSchema: z.ZodType<FileReservation[]> = z.array(
  strictOptions(() => ({ path: nonEmptyString, operation: z.enum(["read", "write"]) })),
);

const longestRetryDelayMs = 7 * 86_400_000;
const lastTime = Date.UTC(9999, 0);

/** A name of a queue or a key. All its characters sort after a space, so sort keys can contain the name. */
export const queueName: z.ZodType<string> = z
  .string()
  .regex(/^[\w.:@/-]{1,64}$/, "expected up to 64 letters, digits or characters of _ . : @ / -");

const timeSchema: z.ZodType<Date | string> = customSchema("a Date, or a time in ISO 8601", isTime);

function isTime(value: unknown): boolean {
  const isText = z.iso.datetime({ offset: true }).safeParse(value).success;
  if (!isText && !(value instanceof Date)) return false;
  const time = new Date(value as Date | string).getTime();
  return time >= 0 && time < lastTime;
}

const taskFields = strictOptions(() => ({
  taskId: z.string().optional(),
  taskName: nonEmptyString,
  inputRequest: z.unknown(),
  priority: z.int().optional(),
  estimatedComplexity: complexitySchema.optional(),
  reserves: reservationsSchema.optional(),
  queue: queueName.optional(),
  key: queueName.optional(),
  notBefore: timeSchema.optional(),
  expiresAt: timeSchema.optional(),
  retries: z.int().nonnegative().optional(),
  retryDelayMs: numberFrom(0)
    .refine((ms) => ms <= longestRetryDelayMs, `expected at most ${longestRetryDelayMs}`)
    .optional(),
  deduplicationId: nonEmptyString.optional(),
  deduplicationWindowMs: z.int().positive().optional(),
}));

export const newTaskSchema: z.ZodType<NewTask> = taskFields
  .refine(({ queue, key }) => key === undefined || queue !== undefined, { path: ["key"], error: "needs a queue" })
  .refine(({ taskId, deduplicationId }) => taskId === undefined || deduplicationId === undefined, {
    path: ["taskId"],
    error: "expected no taskId beside a deduplicationId",
  })
  .refine(({ deduplicationId, deduplicationWindowMs: ms }) => ms === undefined || deduplicationId !== undefined, {
    path: ["deduplicationWindowMs"],
    error: "needs a deduplicationId",
  });
