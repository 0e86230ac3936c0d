import { z } from "zod";
import type { StateData } from "../checkpoint/status/StateData.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import type { OwnerState } from "../storage/RecordLog.ts";
import type { Task } from "./Task.ts";
import { standingTaskSchema } from "./transitionTask.ts";

const questionSchema = z.object({
  task: standingTaskSchema,
  owner: z.enum(["alive", "gone", "silent"]).optional(),
});

/**
 * Whether a task stands still and can go on: it is paused, or has failed and is recoverable, or is in progress while no
 * living process has it.
 *
 * @param owner the state of the process that has it; absent: none has.
 * @throws InvalidInputError
 */
export function isResumable(task: Pick<Task, "status" | "data">, owner?: OwnerState): boolean {
  checkSchema(questionSchema, { task, owner }, "question about a task");
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
