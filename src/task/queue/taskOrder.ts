import type { TaskControls } from "../../checkpoint/records/runRecords.ts";
import { orderBehindTasks, priorityOrder } from "../../journal/agentSummary.ts";

/** The start of the sort keys of all tasks with a queue. These tasks sort after tasks without a queue. */
export const queuePrefix = "~q";

/** Sorts after a space and before every character of a queue or a key. */
const afterSpace = "!";

/** Sorts after every date. */
const afterDates = ":";

/**
 * Returns the start of the sort key of a task with a queue or a delay. A delayed task sorts by its start time, so that
 * a worker that finds it can skip all later tasks. `createdAt` is in milliseconds.
 */
export function taskOrder({ queue, key = "", notBefore }: TaskControls, priority: number, createdAt: number) {
  if (queue === undefined && notBefore === undefined) return undefined;
  const time = notBefore ?? new Date(createdAt).toISOString();
  if (queue === undefined) return `${priorityOrder(priority)}${time}`;
  return `${taskGroup({ queue, key }, priority).group}${time}`;
}

/** Returns the level and the group of a task with a queue. See {@link TaskOrder}. */
export function taskGroup(
  { queue, key = "" }: { readonly queue: string; readonly key?: string | undefined },
  priority: number,
): Pick<TaskOrder, "level" | "group"> {
  const level = `${queueOrder(queue)}${queuePriority(priority)} `;
  return { level, group: `${level}${key} ` };
}

/** Returns the start of the sort keys of a queue. */
export function queueOrder(queue: string): string {
  return `${queuePrefix}${queue} `;
}

/** Returns whether the sort key of a task belongs to a queue. `undefined` is the tasks without a queue. */
export function isInQueue(order: string, queue: string | undefined): boolean {
  return queue === undefined
    ? !isBehindTasks(order) && !order.startsWith(queuePrefix)
    : order.startsWith(queueOrder(queue));
}

/** Returns whether a sort key belongs to an agent without a task. */
export function isBehindTasks(order: string): boolean {
  return order.startsWith(orderBehindTasks);
}

/** Returns 17 digits that sort higher priorities first. */
function queuePriority(priority: number): string {
  const digits = 16;
  const place = priority >= 0 ? Number.MAX_SAFE_INTEGER - priority : -priority;
  return `${priority >= 0 ? 0 : 1}${String(place).padStart(digits, "0")}`;
}

/** The id of a task without a queue can look like a time, so the sort key of such a task contains no key. */
const orderParts = /^(?:(~q\S+ \d{17} )(\S* )|([!~]\d{16} )?)([+-]?\d{4,6}-\d\d-\d\dT\S+) /;

/** The parts of a task's sort key. */
export interface TaskOrder {
  /** The queue and the priority. Empty for a task without a queue. */
  readonly level: string;
  /** The tasks that differ only in time: the level and the key, or the priority of a task without a queue. */
  readonly group: string;
  readonly hasKey: boolean;
  /** When the task may start, in milliseconds since 1970. */
  readonly time: number;
}

export function parseTaskOrder(order: string): TaskOrder {
  const [, level = "", key = "", priority = "", time = ""] = orderParts.exec(order) ?? [];
  return { level, group: level + key + priority, hasKey: key.length > 1, time: Date.parse(time) };
}

/** Returns a sort key between the last task of a group or a level and the next group or level. */
export function afterTasksOf(groupOrLevel: string): string {
  return groupOrLevel === "" ? afterDates : groupOrLevel.slice(0, -1) + afterSpace;
}
