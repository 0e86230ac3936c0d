import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { type DriftReport, type DriftSeverity, severitySchema } from "./DriftReport.ts";

/**
 * What to do about a drift. `continue`: and rebase soon or at the end of the task, if the upstream has new commits. `pause`:
 * until the conflict is settled. `stop`: history was rewritten and work may be lost.
 */
export type DriftResponse =
  | { readonly action: "continue"; readonly rebase?: "at_end" | "soon" }
  | { readonly action: "pause" | "stop"; readonly advice: string };

const reportSchema = z.object({
  rewritten: z.boolean(),
  severity: severitySchema,
  upstream: z.string(),
  commitsBehind: z.number(),
  conflictingFiles: z.array(z.string()),
});

/** The response to a report: low and medium severity continue, high pauses, rewritten history stops. @throws InvalidInputError */
export function driftResponse(report: DriftReport): DriftResponse {
  checkSchema(reportSchema, report, "drift report");
  const { rewritten, severity, upstream, commitsBehind, conflictingFiles } = report;
  if (rewritten)
    return {
      action: "stop",
      advice:
        `The history of ${upstream} was rewritten, and work may be lost. ` +
        "Stop the task, compare the old head with the new one, update the work tree by hand, and start the task again.",
    };
  if (severity === "high")
    return {
      action: "pause",
      advice:
        `${upstream} has ${commitsBehind} new commits that change the same lines as this task: ` +
        `${conflictingFiles.join(", ")}. Settle the conflict, then continue.`,
    };
  if (severity === "none") return { action: "continue" };
  return { action: "continue", rebase: severity === "medium" ? "soon" : "at_end" };
}

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
