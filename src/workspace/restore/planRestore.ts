import { isSameFile } from "../../checkpoint/data/FileChange.ts";
import { type FoundFile, isFolder, stateOf } from "../files/readFile.ts";
import { conflictAt, type FileConflict } from "./FileConflict.ts";
import { type FileHistory, leftStates } from "./FileHistory.ts";

/** The plan for one file. */
export type PlannedFile = { readonly history: FileHistory; readonly found: FoundFile } & (
  | { readonly kind: "restore" }
  | { readonly kind: "conflict"; readonly conflict: FileConflict }
);

/**
 * Plans the restore of a file; `undefined`: it equals the checkpoint already, and the agent replaced no work of others on
 * the way there. A file that is as the agent left it, and that nobody else changed between the agent's changes, is the
 * agent's own work. Any other file is the work of others.
 *
 * @param others the contents that others made: where a command moved one, it may be the only one there is. Default: none.
 */
export function planRestore(
  history: FileHistory,
  found: FoundFile,
  others: ReadonlySet<string> = new Set(),
): PlannedFile | undefined {
  if (isAtTarget(history, found)) return undefined;
  if (isOwnWork(history, found, others)) return { kind: "restore", history, found };
  return { kind: "conflict", conflict: conflictOf(history, found), history, found };
}

function isAtTarget(history: FileHistory, found: FoundFile): boolean {
  // A folder is no file: if there was none at the checkpoint, there is nothing to restore.
  if (isFolder(found) && !history.target) return true;
  if (found.kind === "other" || !isSameFile(stateOf(found), history.target)) return false;
  return history.spans.length === 1 || !isAsLeft(history, found);
}

function isOwnWork(history: FileHistory, found: FoundFile, others: ReadonlySet<string>): boolean {
  if (found.kind === "other" || found.unreachable !== undefined) return false;
  if (history.spans.length !== 1 || history.interrupted) return false;
  const now = stateOf(found);
  return isAsLeft(history, found) && !(now?.kind === "file" && others.has(now.hash));
}

function isAsLeft(history: FileHistory, found: FoundFile): boolean {
  const now = stateOf(found);
  return leftStates(history).some((left) => isSameFile(now, left));
}

function conflictOf({ path, spans, interrupted }: FileHistory, found: FoundFile): FileConflict {
  const conflict = conflictAt(path, found, interrupted);
  // Others changed the file between the agent's changes: there is something to merge even where it is deleted now.
  return conflict.kind === "file_deleted" && spans.length > 1
    ? { ...conflict, kind: "file_modified_externally" }
    : conflict;
}
