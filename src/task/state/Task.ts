import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";

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
