import { z } from "zod";
import { STATE_TRANSITIONS, TaskStatus, type StateData } from "../../checkpoint/status/TaskStatus.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import { TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import type { OwnerState } from "../../storage/RecordLog.ts";
import { complexitySchema, reservationsSchema, type Task, type TaskWithStatus } from "./Task.ts";

/** A status change of a task. */
export interface TaskTransition<Status extends TaskStatus> {
  readonly to: Status;
  /** ISO 8601. */
  readonly at: string;
  /** The data of the new status. */
  readonly data: Readonly<StateData[Status]>;
}

const status = z.enum(TaskStatus);

/** The fields of a task that decide its possible transitions. */
const taskStatusSchema: z.ZodObject = z.object({ status, data: z.looseObject({}) });

const taskSchema = taskStatusSchema.extend({ taskId: z.string() });

const transitionSchema = strictOptions(() => ({
  to: status,
  at: z.iso.datetime({ offset: true }),
  data: z.unknown().optional(),
}));

/**
 * Returns the task after a status change. Stores no data.
 *
 * @throws TransitionNotAllowedError if `STATE_TRANSITIONS` has no such change, or a failed task is not recoverable.
 * @throws InvalidInputError for a malformed task or transition, and for data of another status. The error names the
 * fields.
 */
export function transitionTask<Status extends TaskStatus>(
  task: Task,
  transition: TaskTransition<Status>,
): TaskWithStatus<Status> {
  checkSchema(z.object({ task: taskSchema }), { task }, "transition of a task");
  checkSchema(transitionSchema, transition, "transition of a task");
  const { to, at, data } = transition;
  const allowed = allowedTransitions(task);
  if (!allowed.includes(to)) throw new TransitionNotAllowedError(task.taskId, task.status, to, allowed);
  const checked = checkSchema(stateDataSchemas[to], data, `data of a task that is ${to}`);
  // The schema of this status has accepted the data.
  return { ...task, status: to, updatedAt: at, data: checked } as TaskWithStatus<Status>;
}

/** Returns the possible next statuses of a task. @throws InvalidInputError */
export function allowedTransitions(task: Pick<Task, "status" | "data">): readonly TaskStatus[] {
  checkSchema(taskStatusSchema, task, "task");
  const isFinal = task.status === "failed" && !(task.data as StateData["failed"]).recoverable;
  return isFinal ? [] : STATE_TRANSITIONS[task.status];
}

const time = z.iso.datetime();
const count = z.int().nonnegative();
/** A long list is stored in a blob. */
const paths = z.custom<readonly string[]>(
  (value) => isTexts(value) || envelopeKeyOf(value) === "$blob",
  "a list of paths",
);

const stateDataSchemas: { readonly [Status in TaskStatus]: z.ZodType<StateData[Status]> } = {
  queued: z.strictObject({
    taskId: z.string(),
    createdAt: time,
    priority: z.int(),
    estimatedComplexity: complexitySchema.exactOptional(),
    inputRequest: z.unknown(),
    reserves: reservationsSchema.exactOptional(),
  }),
  in_progress: z.strictObject({
    currentAgent: z.string(),
    currentStep: z.string(),
    iterationCount: count,
    startedAt: time,
    lastActivityAt: time,
    accumulatedContext: z.string(),
  }),
  paused: z.strictObject({
    pausedAt: time,
    pauseReason: z.string(),
    resumeInstructions: z.string().exactOptional(),
    snapshot: z.string(),
  }),
  waiting: z.strictObject({
    waitingFor: z.enum(["user_input", "external_api", "human_approval", "timer", "event"]),
    promptShownToUser: z.string(),
    timeoutAt: time.exactOptional(),
  }),
  completed: z.strictObject({
    completedAt: time,
    finalOutput: z.unknown(),
    filesModified: paths,
    verificationResults: z.array(z.unknown()),
  }),
  failed: z.strictObject({
    failedAt: time,
    errorType: z.string(),
    errorMessage: z.string(),
    stackTrace: z.string().exactOptional(),
    recoverable: z.boolean(),
    retryCount: count,
    retryAt: time.exactOptional(),
  }),
  cancelled: z.strictObject({ cancelledAt: time, reason: z.string().exactOptional() }),
};

/** Returns whether a task from a storage has the data of its status. */
export function hasStateData({ status, data }: { readonly status: string; readonly data: unknown }): boolean {
  const schemas: Readonly<Record<string, z.ZodType>> = stateDataSchemas;
  return Object.hasOwn(schemas, status) && schemas[status]?.safeParse(data).success === true;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

const questionSchema = z.object({ task: taskStatusSchema, owner: z.enum(["alive", "gone", "silent"]).optional() });

/**
 * Returns whether a stopped task can be resumed. The task is paused, or failed and recoverable, or in progress without
 * a living owner.
 *
 * @param owner the state of the process that owns the task. `undefined` if the task has no owner.
 * @throws InvalidInputError
 */
export function isResumable(task: Pick<Task, "status" | "data">, owner?: OwnerState): boolean {
  checkSchema(questionSchema, { task, owner }, "question about a task");
  switch (task.status) {
    case "paused":
      return true;
    case "failed":
      return (task.data as StateData["failed"]).recoverable;
    case "in_progress":
      return owner !== "alive";
    default:
      return false;
  }
}
