import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FoundFile } from "../files/readFile.ts";

/**
 * A file that a rollback restores only after a decision. Paths are relative to the root.
 *
 * - `file_modified_externally`: others changed the file after or between changes of the agent.
 * - `file_deleted`: others deleted the file.
 * - `file_unreachable`: the file cannot be read or replaced, for example because its directory is a link now.
 * - `git_state_changed`: others changed HEAD or the index. The path is `.git/HEAD` or `.git/index`.
 */
export type FileConflict =
  | {
      readonly kind: "file_modified_externally" | "file_deleted";
      readonly path: string;
      /**
       * True if the change was made by an interrupted command or by others, and it is unknown by which. `merge` is then
       * refused.
       */
      readonly interrupted?: true;
    }
  | {
      readonly kind: "file_unreachable";
      readonly path: string;
      /** The reason, as the end of a sentence that starts with the path. */
      readonly reason: string;
    }
  | { readonly kind: "git_state_changed"; readonly path: string };

export function conflictAt(path: string, found: FoundFile, interrupted?: true): FileConflict {
  const reason = found.unreachable ?? (found.kind === "other" ? found.reason : undefined);
  if (reason !== undefined) return { kind: "file_unreachable", path, reason };
  const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
  return withoutUndefined({ kind, path, interrupted });
}

/**
 * The resolution of a conflict.
 *
 * - `use_current` (for a deleted or unreachable file: `skip`): keeps the current state.
 * - `use_checkpoint` (for a deleted file: `restore`): restores the state at the checkpoint. The replaced content is
 * stored in the agent's log.
 * - `merge`: removes the agent's changes from the current file. Refused unless the merge is clean or a
 * `conflictResolver` resolves it.
 * - `abort`: refuses the rollback without any change.
 */
export type FileResolution = "use_current" | "use_checkpoint" | "merge" | "restore" | "skip" | "abort";

export const fileResolutions: Readonly<Record<FileConflict["kind"], readonly FileResolution[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  file_unreachable: ["skip", "abort"],
  git_state_changed: ["use_current", "use_checkpoint", "abort"],
};
