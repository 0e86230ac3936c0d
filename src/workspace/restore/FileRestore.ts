import { type FileChange, type FileState, isFileChange, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { type ConflictingFile, FileConflictError } from "../../errors/workspace/FileConflictError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type {
  DescribedStep,
  ParticipantPlan,
  ParticipantRequest,
  StepRequest,
} from "../../journal/RollbackParticipant.ts";
import type { ConflictResolver, ResolutionStep } from "../conflicts/ConflictResolver.ts";
import { fileNoteOf, type LeftOutFile, unknownIn } from "../files/FileNote.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { type FoundFile, textIn } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import {
  type FileConflict,
  fileHistories,
  type FileResolution,
  fileResolutions,
  type PlannedFile,
  planRestore,
  stateOf,
} from "./planRestore.ts";

/**
 * Decides how to settle a conflict. It gets no contents, but may read the file. If it throws, the rollback is refused, and
 * nothing has changed.
 */
export type ConflictHandler = (conflict: FileConflict) => FileResolution | PromiseLike<FileResolution>;

/** Restores the files of a workspace to a checkpoint. */
export class FileRestore {
  constructor(
    readonly files: WorkspaceFiles,
    readonly onConflict: ConflictHandler | undefined,
    readonly resolver: ConflictResolver,
  ) {}

  /** What a restore would do, with conflicts open. Changes nothing. */
  async look({ notes }: ParticipantRequest): Promise<{
    readonly files: readonly PlannedFile[];
    /** Folders that the agent created, innermost first. */
    readonly folders: readonly string[];
    /** Changes that cannot be reverted. */
    readonly unknown: readonly LeftOutFile[];
  }> {
    const noted = notes.map(({ value }) => fileNoteOf(value)).reverse();
    const histories = fileHistories(noted.flatMap(({ changes }) => changes));
    const folders = new Set(noted.flatMap((note) => note.folders ?? []));
    const found = new Map<string, FoundFile>();
    for (const { path } of histories) {
      const there = await this.files.read(path);
      // A folder that the agent created in place of a file is removed before the file is restored.
      const own = there.kind === "other" && there.folder && folders.has(path);
      found.set(path, own ? { kind: "missing" } : there);
    }
    const files = planRestore(histories, found);
    return { files, folders: [...folders].sort().reverse(), unknown: unknownIn(noted) };
  }

  /**
   * The steps of a restore: removals, then folders, then writes, so that a file can replace a folder.
   *
   * @throws FileConflictError when a conflict stays open.
   */
  async plan(request: ParticipantRequest): Promise<ParticipantPlan> {
    const { files, folders, unknown } = await this.look(request);
    const settled = await this.#settle(files, request);
    const clean = files.filter((file) => file.kind === "restore").map(stepOf);
    const steps = [...clean, ...settled.steps];
    const removes = (step: RestoreStep) => step.kind === "file" && !step.after;
    return {
      steps: [
        ...steps.filter(removes),
        ...folders.map((path) => ({ kind: "folder", path })),
        ...steps.filter((step) => !removes(step)),
        ...unknown.map((left) => ({ kind: "unknown", ...left })),
      ],
      contents: settled.contents,
    };
  }

  /** Applies a step; applying it again has the same result. @throws FileConflictError when the file changed since the plan. */
  async apply(step: RestoreStep, request: StepRequest): Promise<void> {
    if (step.kind === "kept" || step.kind === "unknown") return;
    if (step.kind === "folder") return this.files.removeEmptyFolder(step.path);
    const { path, before, after } = step;
    await this.files.removeUnfinished(path);
    const found = await this.files.read(path);
    const state = stateOf(found);
    if (found.kind !== "other" && isSameFile(state, after)) return;
    const expected = found.kind !== "other" && isSameFile(state, before);
    if (!expected && !(await this.#mayReplace(found, path, request))) return;
    await this.files.put(path, after, await contentFor(after, request));
  }

  async #settle(
    files: readonly PlannedFile[],
    request: ParticipantRequest,
  ): Promise<{ readonly steps: readonly RestoreStep[]; readonly contents: ReadonlyMap<string, Uint8Array> }> {
    const steps: RestoreStep[] = [];
    const contents = new Map<string, Uint8Array>();
    const unsettled: ConflictingFile[] = [];
    for (const plan of files) {
      if (plan.kind !== "conflict") continue;
      const { step, refused } = await this.#ask(plan, request, contents);
      if (step) steps.push(step);
      else unsettled.push(conflictingFile(plan.conflict, refused));
    }
    if (unsettled.length > 0) throw new FileConflictError(request.agentId, request.checkpointId, unsettled);
    return { steps, contents };
  }

  async #ask(
    plan: ConflictingPlan,
    request: ParticipantRequest,
    contents: Map<string, Uint8Array>,
  ): Promise<{ readonly step?: RestoreStep; readonly refused?: string }> {
    if (!this.onConflict) return {};
    const settlement = await settleConflict(plan, await this.onConflict(plan.conflict), request.content, this.resolver);
    if ("refused" in settlement) return settlement.refused === "aborted" ? {} : settlement;
    const { step, content } = settlement;
    if (content && step.kind === "file" && step.after?.kind === "file") contents.set(step.after.hash, content);
    // Keeps the replaced content: it is the work of others.
    if (step.kind === "file" && plan.found.kind === "file" && plan.found.state.kind === "file")
      contents.set(plan.found.state.hash, plan.found.content);
    return { step };
  }

  /** The file changed since the plan was made: asks again, and only accepts to keep or to replace it. */
  async #mayReplace(found: FoundFile, path: string, request: StepRequest): Promise<boolean> {
    const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
    const conflict = { kind, path } as const;
    const answer = await this.onConflict?.(conflict);
    if (answer === "use_current" || answer === "skip") return false;
    if ((answer === "use_checkpoint" || answer === "restore") && found.kind !== "other") return true;
    const refused =
      answer === undefined || answer === "abort" ? undefined : `"${answer}" is not possible at this stage`;
    throw new FileConflictError(request.agentId, request.checkpointId, [conflictingFile(conflict, refused)]);
  }
}

function stepOf({ history, found }: PlannedFile): RestoreStep {
  const before = stateOf(found);
  const { path, target } = history;
  return withoutUndefined({ kind: "file", path, before, after: target });
}

function conflictingFile(conflict: FileConflict, refused: string | undefined): ConflictingFile {
  const options = fileResolutions[conflict.kind];
  return withoutUndefined({ ...conflict, options, refused });
}

async function contentFor(state: FileState | undefined, { content }: StepRequest): Promise<Uint8Array | undefined> {
  if (state?.kind !== "file") return undefined;
  const bytes = await content(state.hash);
  if (!bytes) throw new UnreadableValueError(`the content ${state.hash} of a file is not in the log`);
  return bytes;
}

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
  const from = withoutUndefined({ kind: "file", path, before, settled });
  if (settled !== "merge") return { step: withoutUndefined({ ...from, after: target }) };
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
