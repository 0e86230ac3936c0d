import { isSameFile, type FileChange, type FileState } from "../../checkpoint/data/FileChange.ts";
import type { FoundFile } from "../files/readFile.ts";
import type { FileConflict } from "./FileConflict.ts";

/** What became of one file since a checkpoint, by what the agent noted. */
export interface FileHistory {
  readonly path: string;
  /** As the checkpoint has it; absent: it has no such file. */
  readonly target?: FileState;
  /** As the agent left it. */
  readonly last?: FileState;
  /** Every state that it had in between, those two included. */
  readonly known: readonly (FileState | undefined)[];
}

/** What is to be done with one file; a file that is as the checkpoint has it is not in a plan. */
export type PlannedFile =
  | { readonly kind: "restore"; readonly history: FileHistory; readonly found: FoundFile }
  | {
      readonly kind: "conflict";
      readonly conflict: FileConflict;
      readonly history: FileHistory;
      readonly found: FoundFile;
    };

/** One history a path, in the order in which the paths were first changed. @param changes oldest first. */
export function fileHistories(changes: readonly FileChange[]): readonly FileHistory[] {
  const histories = new Map<string, FileHistory>();
  for (const { path, before, after } of changes) {
    const { target, known } = histories.get(path) ?? { target: before, known: [] };
    histories.set(path, {
      path,
      ...(target && { target }),
      ...(after && { last: after }),
      known: [...known, before, after],
    });
  }
  return [...histories.values()];
}

/**
 * Decides a restore. A file in any state that the agent knew is the agent's own: a crash may have left it before or after
 * each of its changes. Anything else is somebody else's work.
 */
export function planRestore(
  histories: readonly FileHistory[],
  foundAt: ReadonlyMap<string, FoundFile>,
): readonly PlannedFile[] {
  return histories.flatMap((history): PlannedFile[] => {
    const { path, target, known } = history;
    const found = foundAt.get(path) ?? { kind: "missing" };
    const state = stateOf(found);
    const isState = found.kind !== "other";
    if (isState && isSameFile(state, target)) return [];
    if (isState && known.some((own) => isSameFile(state, own))) return [{ kind: "restore", history, found }];
    const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
    return [{ kind: "conflict", conflict: { kind, path }, history, found }];
  });
}

/** The state that was found; `undefined` for a missing file, and for something that has none. */
export function stateOf(found: FoundFile): FileState | undefined {
  return "state" in found ? found.state : undefined;
}
