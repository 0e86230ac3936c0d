import { z } from "zod";
import { type Hunk, meet } from "../git/Hunk.ts";

/**
 * How much it matters that others have gone on: `none` when they have not; `low` when no file was changed by both;
 * `medium` when a file was, in other regions; `high` when it was in the same region, or side by side.
 */
export type DriftSeverity = "none" | "low" | "medium" | "high";

export const severitySchema: z.ZodType<DriftSeverity> = z.enum(["none", "low", "medium", "high"]);

/** Where both sides changed one file, in lines of what they have in common. */
export interface CommonFile {
  readonly path: string;
  readonly ours: readonly Hunk[];
  readonly theirs: readonly Hunk[];
}

/** Whether both changed the same region of a file. */
export function isConflicting({ ours, theirs }: CommonFile): boolean {
  return ours.some((own) => theirs.some((other) => meet(own, other)));
}

/** @param commitsBehind how many commits the upstream has that are not ours. */
export function driftSeverity(commitsBehind: number, common: readonly CommonFile[]): DriftSeverity {
  if (commitsBehind === 0) return "none";
  if (common.length === 0) return "low";
  return common.some(isConflicting) ? "high" : "medium";
}
