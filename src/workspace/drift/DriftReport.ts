import { z } from "zod";
import { type Hunk, meet } from "../git/changes.ts";

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
 * file was, in different regions. `high`: in the same region, or on adjacent lines.
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
