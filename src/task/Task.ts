import type { StateData } from "../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../checkpoint/status/TaskStatus.ts";

/** A task as it is stored: the agent it drives, seen by its status. Narrow it by `status` to reach its data. */
export type Task = {
  [Status in TaskStatus]: {
    /** The id of the agent that the task drives. */
    readonly taskId: string;
    readonly taskName: string;
    /** An integer; the higher one goes first. */
    readonly priority: number;
    /** What its agent is run with. */
    readonly inputRequest: unknown;
    readonly status: Status;
    /** ISO 8601. */
    readonly createdAt: string;
    /** ISO 8601; when its status changed last. */
    readonly updatedAt: string;
    readonly data: Readonly<StateData[Status]>;
  };
}[TaskStatus];

/** A task in one status. */
export type TaskWithStatus<Status extends TaskStatus> = Extract<Task, { readonly status: Status }>;
