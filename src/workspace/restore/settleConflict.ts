import { type FileChange, isFileChange } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import type { ConflictResolver, ResolutionStep } from "../conflicts/ConflictResolver.ts";
import { textIn } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { type FileResolution, fileResolutions, type PlannedFile, stateOf } from "./planRestore.ts";

export type ConflictingPlan = PlannedFile & { readonly kind: "conflict" };

/** The step that settles a conflict, or why the answer is not possible. */
export type Settlement = { readonly step: RestoreStep; readonly content?: Uint8Array } | { readonly refused: string };

/** The step that follows from the answer to a conflict; changes nothing. A content comes only with `merge`. */
export async function settleConflict(
  plan: ConflictingPlan,
  settled: FileResolution,
  contentOf: (hash: string) => Promise<Uint8Array | undefined>,
  resolver: ConflictResolver,
): Promise<Settlement> {
  const { conflict, history, found } = plan;
  const { path, target } = history;
  if (!fileResolutions[conflict.kind].includes(settled) || settled === "abort")
    return { refused: settled === "abort" ? "aborted" : `"${settled}" is not a valid answer` };
  if (settled === "use_current" || settled === "skip") return { step: { kind: "kept", path, settled } };
  if (found.kind === "other") return { refused: `it ${found.reason}, which is not replaced` };
  const before = stateOf(found);
  const from = { kind: "file", path, ...(before && { before }), settled } as const;
  if (settled !== "merge") return { step: { ...from, ...(target && { after: target }) } };
  return mergeInto(from, plan, contentOf, resolver);
}

/** Merges from the file as the agent left it: one side is the checkpoint, the other the current file. */
async function mergeInto(
  from: RestoreStep & { readonly kind: "file" },
  { history: { path, target, last }, found }: ConflictingPlan,
  contentOf: (hash: string) => Promise<Uint8Array | undefined>,
  resolver: ConflictResolver,
): Promise<Settlement> {
  if (target?.kind !== "file" || last?.kind !== "file" || found.kind !== "file" || found.state.kind !== "file")
    return { refused: "only a file that existed all the time can be merged" };
  const contents = [await contentOf(last.hash), await contentOf(target.hash), found.content];
  const [base, ours, theirs] = contents.map((content) => content && textIn(content));
  if (base === undefined || ours === undefined || theirs === undefined) return { refused: "only text can be merged" };
  const outcome = await resolver.resolve({ path, base, ours, theirs });
  if (!outcome.resolved)
    return { refused: `it cannot be merged: ${outcome.refused.map(({ reason }) => reason).join("; ")}` };
  const { text, resolvedBy: settledBy } = outcome;
  const content = new TextEncoder().encode(text);
  const mode = changedMode(last.mode, target.mode, found.state.mode);
  const after = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode } as const;
  return { step: { ...from, after, ...(settledBy !== "merge" && { settledBy }) }, content };
}

/** The checkpoint's mode, unless others changed the mode since the agent left the file. */
function changedMode(last: number, target: number, current: number): number {
  return current === last ? target : current;
}

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

export function describeRestoreStep(step: RestoreStep): DescribedStep {
  const { path: subject } = step;
  if (step.kind === "folder") return { subject, change: "remove empty folder" };
  if (step.kind === "unknown") return { subject, change: `not restored: ${step.reason}` };
  if (step.kind === "kept") return { subject, change: step.settled };
  const change = step.after ? "write" : "delete";
  const settled = [step.settled, step.settledBy].filter(Boolean).join(" by ");
  return { subject, change: settled === "" ? change : `${change} (${settled})` };
}
