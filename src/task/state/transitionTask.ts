import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { STATE_TRANSITIONS } from "../../checkpoint/status/STATE_TRANSITIONS.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { TransitionNotAllowedError } from "../../errors/task/TransitionNotAllowedError.ts";
import { stateDataSchemas } from "./stateDataSchemas.ts";
import type { Task, TaskWithStatus } from "./Task.ts";

/** A status change of a task. */
export interface TaskTransition<Status extends TaskStatus> {
  readonly to: Status;
  /** ISO 8601. */
  readonly at: string;
  /** The data of the new status. */
  readonly data: Readonly<StateData[Status]>;
}

const status = z.enum(TaskStatus);

/** The fields of a task that decide where it may move. */
export const taskStatusSchema: z.ZodObject = z.object({ status, data: z.looseObject({}) });

const taskSchema = taskStatusSchema.extend({ taskId: z.string() });

const transitionSchema = strictOptions({
  to: status,
  at: z.iso.datetime({ offset: true }),
  data: z.unknown().optional(),
});

/**
 * Returns the task after a status change. A pure function: it stores nothing.
 *
 * @throws TransitionNotAllowedError when `STATE_TRANSITIONS` has no such change, or a failed task is not recoverable.
 * @throws InvalidInputError for a malformed task or transition, and for data of another status; it names the fields.
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
  // The schema that passed is the one of this status.
  return { ...task, status: to, updatedAt: at, data: checked } as TaskWithStatus<Status>;
}

/** The statuses that a task may move to. @throws InvalidInputError */
export function allowedTransitions(task: Pick<Task, "status" | "data">): readonly TaskStatus[] {
  checkSchema(taskStatusSchema, task, "task");
  const isFinal = task.status === "failed" && !(task.data as StateData["failed"]).recoverable;
  return isFinal ? [] : STATE_TRANSITIONS[task.status];
}
