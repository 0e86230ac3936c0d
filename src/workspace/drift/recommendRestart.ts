import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { type DriftSeverity, severitySchema } from "./driftSeverity.ts";

/** Start the task again, or merge the changes and continue. */
export type RestartAdvice = "restart" | "merge_and_continue";

const taskSchema = strictOptions({
  progress: z.number().min(0).max(100),
  severity: severitySchema,
  preference: z.enum(["restart", "merge_and_continue"]).optional(),
});

/** Below this percentage a task has too little to lose to make a hard conflict worth settling. */
const littleProgress = 20;

/**
 * Whether to restart a task after a drift: below 20 % of progress with a high severity, unless `preference` says otherwise.
 *
 * @param task.progress percentage, 0 to 100.
 * @param task.preference the choice of the user, which wins. Absent: none.
 * @throws InvalidInputError
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
