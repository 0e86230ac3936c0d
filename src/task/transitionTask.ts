import { z } from "zod";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { STATE_TRANSITIONS } from "../checkpoint/status/STATE_TRANSITIONS.ts";
import type { StateData } from "../checkpoint/status/StateData.ts";
import { TaskStatus } from "../checkpoint/status/TaskStatus.ts";
import { TransitionNotAllowedError } from "../errors/task/TransitionNotAllowedError.ts";
import { stateDataSchemas } from "./stored/stateDataSchemas.ts";
import type { Task, TaskWithStatus } from "./Task.ts";

/** Where a task is to move, and what is then known of it. */
export interface TaskTransition<Status extends TaskStatus> {
  readonly to: Status;
  /** ISO 8601. */
  readonly at: string;
  readonly data: Readonly<StateData[Status]>;
}

const status = z.enum(TaskStatus);

/** What a task must have, so that it can be told where it may go. */
export const standingTaskSchema: z.ZodObject = z.object({ status, data: z.looseObject({}) });

const moveSchema = z.object({
  task: standingTaskSchema.extend({ taskId: z.string() }),
  to: status,
  at: z.iso.datetime({ offset: true }),
});

/**
 * The task after a move. Decides and writes nothing.
 *
 * @throws TransitionNotAllowedError when the table has no such move, or a failed task is not recoverable.
 * @throws InvalidInputError for no task and no move, and when the data is not that of the new status; it names the fields.
 */
export function transitionTask<Status extends TaskStatus>(
  task: Task,
  move: TaskTransition<Status>,
): TaskWithStatus<Status> {
  const { to, at, data } = Object(move) as TaskTransition<Status>;
  checkSchema(moveSchema, { task, to, at }, "move of a task");
  const allowed = allowedTransitions(task);
  if (!allowed.includes(to))
    throw new TransitionNotAllowedError({ taskId: task.taskId, from: task.status, to, allowed });
  const checked = checkSchema(stateDataSchemas[to], data, `data of a task that is ${to}`);
  const { taskId, taskName, priority, inputRequest, createdAt } = task;
  // The schema that passed is the one of this status.
  const moved = { taskId, taskName, priority, inputRequest, status: to, createdAt, updatedAt: at, data: checked };
  return moved as TaskWithStatus<Status>;
}

/** The statuses that a task may move to from where it is. @throws InvalidInputError */
export function allowedTransitions(task: Pick<Task, "status" | "data">): readonly TaskStatus[] {
  checkSchema(standingTaskSchema, task, "task");
  const lost = task.status === "failed" && !(task.data as StateData["failed"]).recoverable;
  return lost ? [] : STATE_TRANSITIONS[task.status];
}
