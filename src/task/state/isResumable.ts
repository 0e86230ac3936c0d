import { z } from "zod";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { OwnerState } from "../../storage/RecordLog.ts";
import type { Task } from "./Task.ts";
import { taskStatusSchema } from "./transitionTask.ts";

const questionSchema = z.object({
  task: taskStatusSchema,
  owner: z.enum(["alive", "gone", "silent"]).optional(),
});

/**
 * Whether a stopped task can be resumed: it is paused, or failed and recoverable, or in progress without a living owner.
 *
 * @param owner the state of the process that owns the task; absent: no process owns it.
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
