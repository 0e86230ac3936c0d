import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { DriftReport } from "./DriftReport.ts";
import { severitySchema } from "./driftSeverity.ts";

/**
 * What to do about a drift: `go_on`, and where there is something to take over, rebase when the task is done or soon;
 * `pause` until somebody has settled it; `stop`, since history was rewritten and work may be lost.
 */
export type DriftResponse =
  | { readonly action: "go_on"; readonly rebase?: "at_end" | "soon" }
  | { readonly action: "pause" | "stop"; readonly advice: string };

const reportSchema = z.object({
  rewritten: z.boolean(),
  severity: severitySchema,
  upstream: z.string(),
  commitsBehind: z.number(),
  conflictingFiles: z.array(z.string()),
});

/** Decides by severity: low goes on, medium tells, high pauses; rewritten history stops. */
export function driftResponse(report: DriftReport): DriftResponse {
  checkSchema(reportSchema, report, "drift report");
  const { rewritten, severity, upstream, commitsBehind, conflictingFiles } = report;
  if (rewritten)
    return {
      action: "stop",
      advice:
        `The history of ${upstream} was rewritten, and work may be lost. ` +
        "Stop the task, compare the old head with the new one, bring the work tree up to date by hand, and start again.",
    };
  if (severity === "high")
    return {
      action: "pause",
      advice:
        `${upstream} has ${commitsBehind} new commits that change the same lines as this task: ` +
        `${conflictingFiles.join(", ")}. Settle the conflict, then go on.`,
    };
  if (severity === "none") return { action: "go_on" };
  return { action: "go_on", rebase: severity === "medium" ? "soon" : "at_end" };
}
