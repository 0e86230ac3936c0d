import { isFileChange, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import { relativePath } from "../files/relativePath.ts";
import type { ResolutionStep } from "../conflicts/ResolutionOutcome.ts";
import type { FileResolution } from "./FileConflict.ts";

/** One step of a restore, as it is stored. */
export type RestoreStep =
  /** The file becomes `after`, if it is still as `before` says. */
  | (FileChange & {
      readonly kind: "file";
      readonly settled?: FileResolution;
      /** Who made what was merged. Absent: it merged clean. */
      readonly settledBy?: Exclude<ResolutionStep, "merge">;
    })
  /** The file stays as it is, by choice. */
  | { readonly kind: "kept"; readonly path: string; readonly settled: FileResolution }
  /** A folder that the agent made goes, if it is empty. */
  | { readonly kind: "folder"; readonly path: string }
  /** Nothing can be done: it is in the report. */
  | { readonly kind: "unknown"; readonly path: string; readonly reason: string };

/** A step as it was stored, judged again. @throws UnreadableValueError, PathNotAllowedError */
export function restoreStepOf(value: unknown): RestoreStep {
  const step = value as RestoreStep;
  if (isFileChange(value) && step.kind === "unknown") return step;
  const known = isFileChange(value) && ["file", "kept", "folder"].includes(step.kind);
  if (!known || relativePath(step.path) !== step.path)
    throw new UnreadableValueError("a step of a rollback of files has another form");
  return step;
}

/** A step as reports show it. */
export function describeRestoreStep(step: RestoreStep): DescribedStep {
  const { path: subject } = step;
  if (step.kind === "folder") return { subject, change: "remove empty folder" };
  if (step.kind === "unknown") return { subject, change: `not restored: ${step.reason}` };
  if (step.kind === "kept") return { subject, change: step.settled };
  const change = step.after ? "write" : "delete";
  const settled = [step.settled, step.settledBy].filter(Boolean).join(" by ");
  return { subject, change: settled === "" ? change : `${change} (${settled})` };
}
