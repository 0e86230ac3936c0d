import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { type DriftSeverity, severitySchema } from "./driftSeverity.ts";

/** Begin the task again, or bring the changes together and go on. */
export type RestartAdvice = "restart" | "merge_and_continue";

const taskSchema = strictOptions({
  progress: z.number().min(0).max(100),
  severity: severitySchema,
  preference: z.enum(["restart", "merge_and_continue"]).optional(),
});

/** Below this a task has so little to lose that a hard conflict is not worth settling. */
const littleProgress = 20;

/**
 * Whether a task should begin again after a drift.
 *
 * @param task.progress 0 to 100.
 * @param task.preference what the user wants; it wins.
 */
export function recommendRestart(task: {
  readonly progress: number;
  readonly severity: DriftSeverity;
  readonly preference?: RestartAdvice | undefined;
}): RestartAdvice {
  checkSchema(taskSchema, task, "question whether to restart");
  if (task.preference !== undefined) return task.preference;
  return task.progress < littleProgress && task.severity === "high" ? "restart" : "merge_and_continue";
}
