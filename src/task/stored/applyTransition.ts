import { lifeAfter, type StatusState } from "../../checkpoint/state/StatusState.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { storedTask } from "./storedTask.ts";
import type { Task, TaskWithStatus } from "../Task.ts";
import { transitionTask } from "../transitionTask.ts";

/** A task before a move, and the records that are to bring it. */
export interface PlannedMove<Status extends TaskStatus> {
  readonly before: Task;
  readonly life: StatusState;
  /** The owner's that will write them. */
  readonly generation: number;
  readonly records: readonly AgentRecord[];
  readonly to: Status;
}

/**
 * The task that the records of a move lead to, its values in their stored form. A task in progress is cancelled by way of
 * a pause; everything else is one move.
 *
 * @throws TransitionNotAllowedError, InvalidInputError
 */
export function applyTransition<Status extends TaskStatus>(move: PlannedMove<Status>): TaskWithStatus<Status> {
  const { before, to } = move;
  const interrupted = before.status === "in_progress" && to === "cancelled";
  const passed = tasksOf(move);
  const paused = passed.find((task) => task.status === "paused");
  const from = interrupted && paused ? transitionTask(before, moveTo(paused)) : before;
  const reached = passed.find((task): task is TaskWithStatus<Status> => task.status === to);
  if (!reached) throw new TypeError(`The records of the move do not lead to ${to}.`);
  return transitionTask<Status>(from, { to, at: reached.updatedAt, data: reached.data as StateData[Status] });
}

/** The task at each status that the records bring. */
function tasksOf({ before, life: start, generation, records }: PlannedMove<TaskStatus>): readonly Task[] {
  let life = start;
  return records.flatMap((record) => {
    const { standing } = life;
    life = lifeAfter(life, record, generation);
    return life.standing === standing ? [] : (storedTask(before.taskId, life) ?? []);
  });
}

function moveTo({ status, updatedAt, data }: TaskWithStatus<"paused">) {
  return { to: status, at: updatedAt, data };
}
