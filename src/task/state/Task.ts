import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** A stored task: the agent that it drives, seen by its status. Narrow it by `status` to reach its data. */
export type Task = {
  [Status in TaskStatus]: {
    /** The id of the agent that the task drives. */
    readonly taskId: string;
    readonly taskName: string;
    /** An integer; higher priorities go first. */
    readonly priority: number;
    /** The input of the agent's run. */
    readonly inputRequest: unknown;
    readonly status: Status;
    /** ISO 8601. */
    readonly createdAt: string;
    /** ISO 8601; the time of the last status change. */
    readonly updatedAt: string;
    /** The place of the task in a list: pass it as `after` to list the tasks behind it. It never changes. */
    readonly cursor: string;
    readonly data: Readonly<StateData[Status]>;
  };
}[TaskStatus];

/** A task in one status. */
export type TaskWithStatus<Status extends TaskStatus> = Extract<Task, { readonly status: Status }>;

/** What `TaskManager.create` takes. */
export interface NewTask {
  /** The id of the agent that the task drives. Default: a random id. */
  readonly taskId?: string | undefined;
  /** The kind of task: a worker chooses the agent by this name. */
  readonly taskName: string;
  /** The input of the agent's run: any storable value. */
  readonly inputRequest: unknown;
  /** An integer; higher priorities go first. Default 0. */
  readonly priority?: number | undefined;
  /** For people and their tools; this library does not act on it. */
  readonly estimatedComplexity?: "low" | "medium" | "high" | undefined;
  /** The files that the task will read and write. A worker reserves all of them before it starts the task. Default: none. */
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
