import { z } from "zod";
import { type Hunk, meet } from "../git/Hunk.ts";

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

/** Whether both sides changed the same region of a file. */
export function isConflicting({ ours, theirs }: CommonFile): boolean {
  return ours.some((own) => theirs.some((other) => meet(own, other)));
}

/** @param commitsBehind number of upstream commits that are not in HEAD. */
export function driftSeverity(commitsBehind: number, common: readonly CommonFile[]): DriftSeverity {
  if (commitsBehind === 0) return "none";
  if (common.length === 0) return "low";
  return common.some(isConflicting) ? "high" : "medium";
}
