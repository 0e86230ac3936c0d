import { isFileChange, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import { relativePath } from "../files/relativePath.ts";
import type { ResolutionStep } from "../conflicts/ResolutionOutcome.ts";
import type { FileResolution } from "./FileConflict.ts";

/** One stored step of a restore. */
export type RestoreStep =
  /** The file becomes `after`, if it is still `before`. */
  | (FileChange & {
      readonly kind: "file";
      readonly settled?: FileResolution;
      /** The step that resolved the merge. Absent: the merge was clean. */
      readonly settledBy?: Exclude<ResolutionStep, "merge">;
    })
  /** The file stays, by choice. */
  | { readonly kind: "kept"; readonly path: string; readonly settled: FileResolution }
  /** A folder that the agent created is removed, if it is empty. */
  | { readonly kind: "folder"; readonly path: string }
  /** Nothing can be done; the report lists it. */
  | { readonly kind: "unknown"; readonly path: string; readonly reason: string };

/** A stored step, validated again. @throws UnreadableValueError, PathNotAllowedError */
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
