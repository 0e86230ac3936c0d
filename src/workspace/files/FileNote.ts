import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import { isFileChange, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { realFolder } from "../../nodejs/canonicalPath.ts";
import { foldersAbove, relativePath } from "./relativePath.ts";

export interface FileNote {
  readonly changes: readonly FileChange[];
  /** Directories that were created for the changes, outermost first. Omitted if empty. */
  readonly folders?: readonly string[];
  /** Directories that were removed or whose permissions changed. Omitted if empty. */
  readonly folderModes?: readonly FolderChange[];
  /** Changed files whose content is not stored, with the reason. Omitted if empty. */
  readonly leftOut?: readonly LeftOutFile[];
  /** The id of a starting capture. A note with the same `ended` follows unless the capture is interrupted. */
  readonly began?: string;
  /** The scan before the action, for `readScan`. Omitted by earlier versions. */
  readonly scan?: readonly string[];
  readonly ended?: string;
  /** HEAD and the index at the start or the end of a capture, for `gitNoteOf`. Omitted without a repository. */
  readonly git?: unknown;
  /** The capture was interrupted, so others may have made these changes. */
  readonly interrupted?: true;
}

/** The root of the files that each run of this process has noted. */
const roots = new WeakMap<AgentRun, string>();

/** Rejects a second root in a run, because the paths in its notes are relative to one root. @throws InvalidInputError */
export function assertOneRoot(context: AgentContext, root: string): void {
  let run = runOf(context);
  while (run.parent) run = run.parent;
  const first = roots.get(run) ?? root;
  roots.set(run, first);
  if (realFolder(first) === realFolder(root)) return;
  const expected = `${JSON.stringify(first)}, because the run has recorded files of this root. Use one workspace with a common root`;
  throw new InvalidInputError("root of the workspace", [{ path: "", expected }]);
}

/** Returns the changes that a rollback cannot revert. `notes` are oldest first. */
export function unknownIn(notes: readonly FileNote[]): readonly LeftOutFile[] {
  const ended = new Set(notes.map((note) => note.ended));
  const interrupted = notes.filter(({ began }) => began !== undefined && !ended.has(began));
  const reason = "may hold changes of a command that was interrupted";
  return [
    ...notes.flatMap(({ leftOut = [] }) => leftOut),
    ...interrupted.slice(0, 1).map(() => ({ path: ".", reason })),
  ];
}

/**
 * Returns a function that tests a path. The result is true if an entry with unstored content was moved to the path
 * after the last change of the path. `notes` are oldest first.
 */
export function movedOver(notes: readonly FileNote[]): (path: string) => boolean {
  const changedAt = new Map(notes.flatMap(({ changes }, at) => changes.map(({ path }) => [path, at] as const)));
  const movedAt = new Map(
    notes.flatMap(({ leftOut = [] }, at) => leftOut.flatMap(({ path, moved }) => (moved ? [[path, at] as const] : []))),
  );
  return (path) => {
    const at = changedAt.get(path) ?? -1;
    return [path, ...foldersAbove(path)].some((above) => (movedAt.get(above) ?? -1) > at);
  };
}

export interface FolderChange {
  readonly path: string;
  readonly before: number;
  /** Omitted if the directory was removed. */
  readonly after?: number;
}

/** A file whose content is not stored. */
export interface LeftOutFile {
  readonly path: string;
  /** The reason, as the end of a sentence that starts with the path. */
  readonly reason: string;
  /** An entry that existed before under another name was moved to this path, possibly over a file of the agent. */
  readonly moved?: true;
}

/** Validates a stored note and its paths. @throws UnreadableValueError, PathNotAllowedError */
export function fileNoteOf(value: unknown): FileNote {
  const { changes, folders, folderModes, leftOut, began, scan, ended, git, interrupted } = (value ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const note = {
    changes: listOf(changes, isFileChange),
    folders: listOf(folders ?? [], isText),
    folderModes: listOf(folderModes ?? [], isFolderChange),
  };
  for (const { path } of [...note.changes, ...note.folderModes]) assertPath(path);
  for (const path of note.folders) assertPath(path);
  return withoutUndefined({
    ...note,
    leftOut: isListOf(leftOut, isLeftOut) ? leftOut : [],
    began: isText(began) ? began : undefined,
    scan: isListOf(scan, isText) ? scan : undefined,
    ended: isText(ended) ? ended : undefined,
    git,
    interrupted: interrupted === true || undefined,
  });
}

/** @throws UnreadableValueError */
function listOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): readonly Item[] {
  if (isListOf(value, isItem)) return value;
  throw new UnreadableValueError("a note about changed files is malformed");
}

/** Accepts only the stored form of a path, because another form would be a second key for the same file. */
function assertPath(path: string): void {
  if (relativePath(path) !== path)
    throw new UnreadableValueError(`a note of changed files has the path ${JSON.stringify(path)}`);
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isFolderChange(value: unknown): value is FolderChange {
  if (typeof value !== "object" || value === null) return false;
  const { path, before, after = 0 } = value as FolderChange;
  return isText(path) && isFolderMode(before) && isFolderMode(after);
}

/** Returns whether a value is a permission mode of a directory, including setuid, setgid and sticky. */
export function isFolderMode(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0o7777;
}

function isLeftOut(value: unknown): value is LeftOutFile {
  if (typeof value !== "object" || value === null) return false;
  return isText((value as LeftOutFile).path) && isText((value as LeftOutFile).reason);
}

/** Returns a mode with which all readers of the file, or no users, can execute the file, as after a git checkout. */
export function executableMode(mode: number, isExecutable: boolean): number {
  return isExecutable ? mode | ((mode & 0o444) >> 2) : mode & 0o666;
}
