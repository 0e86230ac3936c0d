import { type FileChange, isFileChange } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import type { ResolutionStep } from "../conflicts/ConflictResolver.ts";
import { isFolderMode } from "../files/FileNote.ts";
import { relativePath } from "../files/relativePath.ts";
import type { FileResolution } from "./FileConflict.ts";
import { type GitRestorePart, isGitPart } from "./planGit.ts";

/** A stored step of a rollback, which contains the whole restore. Earlier versions stored each part as a step. */
export type RestoreStep = { readonly kind: "restore"; readonly parts: readonly RestorePart[] } | RestorePart;

export type RestorePart =
  | FilePart
  /** A decision kept the current file. */
  | { readonly kind: "kept"; readonly path: string; readonly settled: FileResolution }
  | FolderPart
  | FolderModePart
  | GitRestorePart
  /** A change that cannot be reverted and is only reported. */
  | { readonly kind: "unknown"; readonly path: string; readonly reason: string };

/** Changes a file to `after` if it still equals `before`. */
export interface FilePart extends FileChange {
  readonly kind: "file";
  readonly settled?: FileResolution;
  /** The step that resolved the merge. Omitted for a clean merge. */
  readonly settledBy?: Exclude<ResolutionStep, "merge">;
}

/** Removes a directory that the agent created, if it is empty. */
export interface FolderPart {
  readonly kind: "folder";
  readonly path: string;
  /** The permissions that the agent left, if they may prevent the removal of files in the directory. */
  readonly mode?: number;
}

/** Restores a directory that the agent removed or whose permissions it changed. */
export interface FolderModePart {
  readonly kind: "folder_mode";
  readonly path: string;
  readonly before: number;
  /** The permissions that the agent left. Omitted if the agent removed the directory. */
  readonly after?: number;
}

/** The outcomes of parts that deviate from the plan, by path. */
export type RestoreOutcome = Readonly<Record<string, PartOutcome>>;

export type PartOutcome = Pick<DescribedStep, "change" | "replaced">;

export function partsOf(step: RestoreStep): readonly RestorePart[] {
  return step.kind === "restore" ? step.parts : [step];
}

/** Validates a stored step. @throws UnreadableValueError, PathNotAllowedError */
export function restoreStepOf(value: unknown): RestoreStep {
  const { kind, parts } = (value ?? {}) as { readonly kind?: unknown; readonly parts?: unknown };
  if (kind !== "restore") return partOf(value);
  if (!Array.isArray(parts)) throw otherForm();
  return { kind, parts: parts.map(partOf) };
}

function partOf(value: unknown): RestorePart {
  if (isGitPart(value)) return value;
  const part = value as RestorePart;
  if (isFileChange(value) && part.kind === "unknown") return part;
  const known = part?.kind === "folder_mode" ? isFolderModePart(part) : isFileChange(value) && isKnown(part);
  if (!known || relativePath(part.path) !== part.path) throw otherForm();
  return part;
}

const kinds: ReadonlySet<string> = new Set(["file", "kept", "folder"]);

function isKnown(part: RestorePart): boolean {
  return kinds.has(part.kind) && (part.kind !== "folder" || isFolderMode(part.mode ?? 0));
}

function isFolderModePart({ path, before, after = 0 }: FolderModePart): boolean {
  return typeof path === "string" && isFolderMode(before) && isFolderMode(after);
}

function otherForm(): UnreadableValueError {
  return new UnreadableValueError("a step of a file rollback is malformed");
}

export function describeRestore(step: RestoreStep, outcome: unknown): readonly DescribedStep[] {
  const changed = outcomeOf(outcome);
  return partsOf(step).map((part) => {
    const { change = plannedChange(part), replaced = replacedIn(part, changed.has(part.path)) } =
      changed.get(part.path) ?? {};
    return { subject: part.path, change, ...(replaced !== undefined && { replaced }) };
  });
}

function replacedIn(part: RestorePart, isChanged: boolean): string | undefined {
  if (part.kind === "git_index") return part.replaced;
  if (isChanged || part.kind !== "file" || part.settled === undefined) return undefined;
  return part.before?.kind === "file" ? part.before.hash : undefined;
}

function outcomeOf(outcome: unknown): ReadonlyMap<string, PartOutcome> {
  if (typeof outcome !== "object" || outcome === null) return new Map();
  return new Map(Object.entries(outcome).filter((entry): entry is [string, PartOutcome] => isPartOutcome(entry[1])));
}

function isPartOutcome(value: unknown): value is PartOutcome {
  const { change, replaced = "" } = (value ?? {}) as PartOutcome;
  return typeof change === "string" && typeof replaced === "string";
}

export function plannedChange(part: RestorePart): string {
  if (part.kind === "folder") return "remove empty folder";
  if (part.kind === "folder_mode") return part.after === undefined ? "restore folder" : "restore permissions";
  if (part.kind === "unknown") return `not restored: ${part.reason}`;
  if (part.kind === "kept" || part.kind === "git_kept") return part.settled;
  const change = part.kind !== "file" || part.after ? "write" : "delete";
  const settledBy = part.kind === "file" ? part.settledBy : undefined;
  const settled = [part.settled, settledBy].filter(Boolean).join(" by ");
  return settled === "" ? change : `${change} (${settled})`;
}
