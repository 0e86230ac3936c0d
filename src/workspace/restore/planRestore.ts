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
  const now = stateOf(found);
  const isState = found.kind !== "other";
  const isAlone = history.spans.length === 1;
  const isLeft = leftStates(history).some((left) => isSameFile(now, left));
  if (isState && isSameFile(now, history.target) && (isAlone || !isLeft)) return undefined;
  // A folder is no file: if there was none at the checkpoint, there is nothing to restore.
  if (isFolder(found) && !history.target) return undefined;
  const isOwn = isState && isAlone && isLeft && !(now?.kind === "file" && others.has(now.hash));
  if (isOwn && found.unreachable === undefined) return { kind: "restore", history, found };
  return { kind: "conflict", conflict: conflictOf(history, found), history, found };
}

function conflictOf({ path, spans }: FileHistory, found: FoundFile): FileConflict {
  const conflict = conflictAt(path, found);
  // Others changed the file between the agent's changes: there is something to merge even where it is deleted now.
  return conflict.kind === "file_deleted" && spans.length > 1 ? { kind: "file_modified_externally", path } : conflict;
}
