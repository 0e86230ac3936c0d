import { z } from "zod";
import type { FileReservation, StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** A stored task. Narrow it by `status` to access the data of the status. */
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
    /** The position of the task in a list. Pass it as `after` to list the tasks after it. It never changes. */
    readonly cursor: string;
    readonly data: Readonly<StateData[Status]>;
  };
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
  /** For people and their tools. This library ignores it. */
  readonly estimatedComplexity?: "low" | "medium" | "high" | undefined;
  /**
   * The files that the task will read and write. A worker reserves all of them before it starts the task. Defaults to
   * an empty list.
   */
  readonly reserves?: readonly FileReservation[] | undefined;
}

export const complexitySchema: z.ZodType<"low" | "medium" | "high"> = z.enum(["low", "medium", "high"]);

export const reservationsSchema: z.ZodType<FileReservation[]> = z.array(
  strictOptions({ path: nonEmptyString, operation: z.enum(["read", "write"]) }),
);

export const newTaskSchema: z.ZodType<NewTask> = strictOptions({
  taskId: z.string().optional(),
  taskName: nonEmptyString,
  inputRequest: z.unknown(),
  priority: z.int().optional(),
  estimatedComplexity: complexitySchema.optional(),
  reserves: reservationsSchema.optional(),
});
