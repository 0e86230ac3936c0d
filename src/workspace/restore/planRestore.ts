import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { type FoundFile, isFolder, stateOf } from "../files/readFile.ts";
import type { FileConflict } from "./FileConflict.ts";
import { type FileHistory, leftStates } from "./FileHistory.ts";

/** The plan for one file. */
export type PlannedFile =
  | {
      readonly kind: "restore";
      readonly history: FileHistory;
      readonly before: FileState | undefined;
      readonly found: FoundFile;
    }
  | {
      readonly kind: "conflict";
      readonly conflict: FileConflict;
      readonly history: FileHistory;
      readonly found: FoundFile;
    };

/**
 * Plans the restore of a file; `undefined`: it equals the checkpoint already, and the agent replaced no work of others on
 * the way there. A file that is as the agent left it, and that nobody else changed between the agent's changes, is the
 * agent's own work. Any other file is the work of others.
 */
export function planRestore(history: FileHistory, found: FoundFile): PlannedFile | undefined {
  const before = stateOf(found);
  const isState = found.kind !== "other";
  const isAlone = history.spans.length === 1;
  const isLeft = leftStates(history).some((left) => isSameFile(before, left));
  if (isState && isSameFile(before, history.target) && (isAlone || !isLeft)) return undefined;
  // A folder is no file: if there was none at the checkpoint, there is nothing to restore.
  if (isFolder(found) && !history.target) return undefined;
  if (isState && isAlone && isLeft && found.unreachable === undefined)
    return { kind: "restore", history, before, found };
  return { kind: "conflict", conflict: conflictOf(history, found), history, found };
}

/**
 * A file of the agent whose content others made: a command moved or copied it here. It may be the only one there is, so
 * somebody is asked.
 */
export function askedIfOfOthers(plan: PlannedFile, others: ReadonlySet<string>): PlannedFile {
  if (plan.kind === "conflict" || plan.found.kind !== "file" || plan.before?.kind !== "file") return plan;
  const { history, found, before } = plan;
  if (!others.has(before.hash)) return plan;
  return { kind: "conflict", conflict: { kind: "file_modified_externally", path: history.path }, history, found };
}

function conflictOf({ path, spans }: FileHistory, found: FoundFile): FileConflict {
  const reason = found.unreachable ?? (found.kind === "other" ? found.reason : undefined);
  if (reason !== undefined) return { kind: "file_unreachable", path, reason };
  // Others changed the file between the agent's changes: there is something to merge even where it is deleted now.
  const isDeleted = found.kind === "missing" && spans.length === 1;
  return { kind: isDeleted ? "file_deleted" : "file_modified_externally", path };
}
