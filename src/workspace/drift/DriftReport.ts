import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { type Hunk, meet } from "../git/hunks.ts";
import { z } from "zod";

/** The differences between a work tree and its upstream branch. */
export interface DriftReport {
  /** The current commit. Omitted in a repository without commits. */
  readonly head?: string;
  /** The ref of the upstream, such as `refs/remotes/origin/main`. */
  readonly upstream: string;
  /** The upstream commit at the last fetch. Omitted if the ref does not exist. */
  readonly upstreamHead?: string;
  /** The time of the last fetch in ISO 8601. Omitted if unknown. */
  readonly fetchedAt?: string;
  /** The number of upstream commits that `head` does not contain. */
  readonly commitsBehind: number;
  /** Whether the upstream no longer contains its previously known head, or shares no history with `head`. */
  readonly rewritten: boolean;
  /**
   * Files that differ from `head`. Files that are still as the workspace wrote them are omitted. Empty without a
   * commit.
   */
  readonly localFiles: readonly string[];
  /** Files that the upstream changed since the last common commit. */
  readonly upstreamFiles: readonly string[];
  /** Files that both sides changed since the last common commit. */
  readonly conflictingFiles: readonly string[];
  /** The severity, based on the files and regions that both sides changed. */
  readonly severity: DriftSeverity;
}

/**
 * The severity of a drift.
 *
 * - `none`: there are no new upstream commits.
 * - `low`: no file was changed on both sides.
 * - `medium`: both sides changed the same file in different regions.
 * - `high`: both sides changed the same or adjacent lines, or moved the same submodule. `high` is also used if a
 *   shallow or partial clone lacks the information.
 */
export type DriftSeverity = "none" | "low" | "medium" | "high";

const severitySchema: z.ZodType<DriftSeverity> = z.enum(["none", "low", "medium", "high"]);

/** The changes of both sides to one file, in lines of the last common version. */
export interface CommonFile {
  readonly path: string;
  readonly ours: readonly Hunk[];
  readonly theirs: readonly Hunk[];
}

function isConflicting({ ours, theirs }: CommonFile): boolean {
  return ours.some((own) => theirs.some((other) => meet(own, other)));
}

/** @param commitsBehind number of upstream commits that HEAD does not contain */
export function driftSeverity(commitsBehind: number, common: readonly CommonFile[]): DriftSeverity {
  if (commitsBehind === 0) return "none";
  if (common.length === 0) return "low";
  return common.some(isConflicting) ? "high" : "medium";
}

/**
 * The response to a drift. `continue` may ask for a rebase soon or at the end of the task. `pause` waits until the
 * conflict is resolved. `stop` means that history was rewritten and work may be lost.
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

/** Returns the response: continue for low and medium severity, pause for high, stop for rewritten history. */
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
  const commits = commitsBehind === 1 ? "a new commit" : `${commitsBehind} new commits`;
  if (severity === "high")
    return {
      action: "pause",
      advice:
        conflictingFiles.length === 0
          ? `${upstream} has ${commits}, but the clone lacks the data to compare them. ` +
            "Fetch more of the history, or the objects that a partial clone lacks, or compare by hand, then continue."
          : `${upstream} has ${commits} with changes to the same lines as this task: ` +
            `${conflictingFiles.join(", ")}. Resolve the conflict, then continue.`,
    };
  if (severity === "none") return { action: "continue" };
  return { action: "continue", rebase: severity === "medium" ? "soon" : "at_end" };
}

/** Whether to restart the task, or to merge the changes and continue. */
export type RestartAdvice = "restart" | "merge_and_continue";

const taskSchema = strictOptions(() => ({
  progress: z.number().min(0).max(100),
  severity: severitySchema,
  preference: z.enum(["restart", "merge_and_continue"]).optional(),
}));

/** Below this progress in percent, a restart costs less than resolving a hard conflict. */
const littleProgress = 20;

/**
 * Recommends whether to restart a task after a drift. By default it recommends a restart below 20 % progress at high
 * severity.
 *
 * @param task.progress percentage, 0 to 100
 * @param task.preference the choice of the user. It replaces the default
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
