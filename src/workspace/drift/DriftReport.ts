import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { type Hunk, meet } from "../git/hunks.ts";
import { z } from "zod";

/** How a work tree differs from its upstream. The check changes nothing. */
export interface DriftReport {
  /** The commit that is checked out; absent when there is no commit yet. */
  readonly head?: string;
  /** The ref of the upstream, such as `refs/remotes/origin/main`. */
  readonly upstream: string;
  /** Its commit, as last fetched; absent when there is no such ref. */
  readonly upstreamHead?: string;
  /** The time of the last fetch, ISO 8601; absent when it is not known. */
  readonly fetchedAt?: string;
  /** Commits of the upstream that are not in `head`. */
  readonly commitsBehind: number;
  /** The previously known upstream head is no longer in the history of the upstream, or the two have no common history. */
  readonly rewritten: boolean;
  /** Files that differ from `head` and were not left so by the workspace. Empty when nothing is checked out. */
  readonly localFiles: readonly string[];
  /** Files that the upstream changed since the last common commit. */
  readonly upstreamFiles: readonly string[];
  /** Files that both sides changed since then. */
  readonly conflictingFiles: readonly string[];
  /** How serious the drift is, by the files and regions that both sides changed. */
  readonly severity: DriftSeverity;
}

/**
 * How serious a drift is. `none`: the upstream has no new commits. `low`: no file was changed on both sides. `medium`: a
 * file was, in different regions. `high`: in the same region, or on adjacent lines; or a
 * submodule was moved on both sides, or a shallow or partial clone does not tell.
 */
export type DriftSeverity = "none" | "low" | "medium" | "high";

export const severitySchema: z.ZodType<DriftSeverity> = z.enum(["none", "low", "medium", "high"]);

/** The places where both sides changed one file, in lines of the last common version. */
export interface CommonFile {
  readonly path: string;
  readonly ours: readonly Hunk[];
  readonly theirs: readonly Hunk[];
}

export function isConflicting({ ours, theirs }: CommonFile): boolean {
  return ours.some((own) => theirs.some((other) => meet(own, other)));
}

/** @param commitsBehind number of upstream commits that are not in HEAD. */
export function driftSeverity(commitsBehind: number, common: readonly CommonFile[]): DriftSeverity {
  if (commitsBehind === 0) return "none";
  if (common.length === 0) return "low";
  return common.some(isConflicting) ? "high" : "medium";
}

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
        conflictingFiles.length === 0
          ? `${upstream} has ${commitsBehind} new commits, and the clone does not have what it takes to compare them. ` +
            "Fetch more of the history, or the objects that a partial clone lacks, or compare by hand, then continue."
          : `${upstream} has ${commitsBehind} new commits that change the same lines as this task: ` +
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
