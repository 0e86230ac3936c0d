import { isSameFile } from "../../checkpoint/data/FileChange.ts";
import { type FoundFile, isFolder, stateOf } from "../files/readFile.ts";
import { conflictAt, type FileConflict } from "./FileConflict.ts";
import { type FileHistory, leftStates } from "./FileHistory.ts";

export type PlannedFile = { readonly history: FileHistory; readonly found: FoundFile } & (
  | { readonly kind: "restore" }
  | { readonly kind: "conflict"; readonly conflict: FileConflict }
);

/**
 * Plans the restore of a file. Returns `undefined` if it already equals the checkpoint and the agent replaced no
 * content of others. If a file is in the state that the agent left and no others changed it between the agent's
 * changes, its content is the agent's. Otherwise the file contains content of others.
 *
 * @param others contents that others wrote. If a command moved one, the file may contain the only copy. Defaults to an
 * empty set.
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
  // A directory is not a file. Without a file at the checkpoint, no restore is needed.
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
  // Others changed the file between the agent's changes, so a merge is possible even if the file was deleted.
  return conflict.kind === "file_deleted" && spans.length > 1
    ? { ...conflict, kind: "file_modified_externally" }
    : conflict;
}
