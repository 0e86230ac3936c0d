import { type FileChange, type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FoundFile } from "../files/readFile.ts";

/** The recorded changes of one file since a checkpoint. */
export interface FileHistory {
  readonly path: string;
  /** The state at the checkpoint; absent: no file. */
  readonly target?: FileState;
  /** The state that the agent left; absent: no file. */
  readonly last?: FileState;
  /** Every recorded state, including those two. */
  readonly known: readonly (FileState | undefined)[];
}

/** The plan for one file; a file that already equals the checkpoint is not planned. */
export type PlannedFile =
  | { readonly kind: "restore"; readonly history: FileHistory; readonly found: FoundFile }
  | {
      readonly kind: "conflict";
      readonly conflict: FileConflict;
      readonly history: FileHistory;
      readonly found: FoundFile;
    };

/** One history for each path, in the order of first changes. @param changes oldest first. */
export function fileHistories(changes: readonly FileChange[]): readonly FileHistory[] {
  const histories = new Map<string, FileHistory>();
  for (const { path, before, after } of changes) {
    const { target, known } = histories.get(path) ?? { target: before, known: [] };
    histories.set(path, withoutUndefined({ path, target, last: after, known: [...known, before, after] }));
  }
  return [...histories.values()];
}

/**
 * Plans a restore. A file in any recorded state is the agent's own work: a crash may have left it before or after any of
 * the agent's changes. Any other state is the work of others.
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

/** The found state; `undefined` for a missing file, and for anything that is neither a file nor a link. */
export function stateOf(found: FoundFile): FileState | undefined {
  return "state" in found ? found.state : undefined;
}

/** A file that others changed or deleted since the agent last changed it. Paths are relative to the root. */
export type FileConflict =
  | { readonly kind: "file_modified_externally"; readonly path: string }
  | { readonly kind: "file_deleted"; readonly path: string };

/**
 * How to settle a conflict.
 *
 * - `use_current` (for a deleted file: `skip`): keeps the current file.
 * - `use_checkpoint` (for a deleted file: `restore`): restores the file to its state at the checkpoint. The replaced content
 *   is kept in the agent's log.
 * - `merge`: removes the agent's changes from the current file; refused unless the merge is clean or a `conflictResolver`
 *   resolves it.
 * - `abort`: refuses the rollback; nothing changes.
 */
export type FileResolution = "use_current" | "use_checkpoint" | "merge" | "restore" | "skip" | "abort";

/** The valid answers to each kind of conflict. */
export const fileResolutions: Readonly<Record<FileConflict["kind"], readonly FileResolution[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
};
