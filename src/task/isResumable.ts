import type { StateData } from "../checkpoint/status/StateData.ts";
import type { OwnerState } from "../storage/RecordLog.ts";
import type { Task } from "./Task.ts";

/**
 * Whether a task stands still and can go on: it is paused, or has failed and is recoverable, or is in progress while no
 * living process has it.
 *
 * @param owner the state of the process that has it; absent: none has.
 */
export function isResumable(task: Pick<Task, "status" | "data">, owner?: OwnerState): boolean {
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
