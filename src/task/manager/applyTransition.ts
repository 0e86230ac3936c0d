import { statusAfter, type StatusState } from "../../checkpoint/state/StatusState.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { storedTask } from "./storedTask.ts";
import type { Task, TaskWithStatus } from "../state/Task.ts";
import { transitionTask } from "../state/transitionTask.ts";

/** A task before a status change, and the records of the change. */
export interface PlannedTransition<Status extends TaskStatus> {
  readonly before: Task;
  readonly life: StatusState;
  /** The generation of the owner that will append the records. */
  readonly generation: number;
  readonly records: readonly AgentRecord[];
  readonly to: Status;
}

/**
 * Returns the task after the records, with values in their stored form. Cancelling a task in progress pauses it first;
 * every other change is a single transition.
 *
 * @throws TransitionNotAllowedError, InvalidInputError
 */
export function applyTransition<Status extends TaskStatus>(planned: PlannedTransition<Status>): TaskWithStatus<Status> {
  const { before, to } = planned;
  const interrupted = before.status === "in_progress" && to === "cancelled";
  const passed = tasksOf(planned);
  const paused = passed.find((task) => task.status === "paused");
  const from = interrupted && paused ? transitionTask(before, transitionTo(paused)) : before;
  const reached = passed.find((task): task is TaskWithStatus<Status> => task.status === to);
  if (!reached) throw new TypeError(`The records do not lead to the status ${to}.`);
  return transitionTask<Status>(from, { to, at: reached.updatedAt, data: reached.data as StateData[Status] });
}

/** The task after each record that changes its status. */
function tasksOf({ before, life: start, generation, records }: PlannedTransition<TaskStatus>): readonly Task[] {
  let life = start;
  return records.flatMap((record) => {
    const { current } = life;
    life = statusAfter(life, record, generation);
    return life.current === current ? [] : (storedTask(before.taskId, life) ?? []);
  });
}

function transitionTo({ status, updatedAt, data }: TaskWithStatus<"paused">) {
  return { to: status, at: updatedAt, data };
}
