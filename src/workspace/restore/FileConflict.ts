import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FoundFile } from "../files/readFile.ts";

/**
 * A file that a rollback does not restore unasked. Paths are relative to the root.
 *
 * - `file_modified_externally`: others changed it after the agent's last change, or between two changes of the agent.
 * - `file_deleted`: others deleted it.
 * - `file_unreachable`: it cannot be read or replaced, for example because its folder is a link now.
 * - `git_state_changed`: others changed HEAD or the index. The path is `.git/HEAD` or `.git/index`.
 */
export type FileConflict =
  | {
      readonly kind: "file_modified_externally" | "file_deleted";
      readonly path: string;
      /**
       * A command of the agent that was interrupted made the change, or others did. `merge` is refused. Defaults to `false`.
       */
      readonly interrupted?: true;
    }
  | {
      readonly kind: "file_unreachable";
      readonly path: string;
      /** Completes a sentence that begins with the path. */
      readonly reason: string;
    }
  | { readonly kind: "git_state_changed"; readonly path: string };

/** What others made of a file, as a conflict. */
export function conflictAt(path: string, found: FoundFile, interrupted?: true): FileConflict {
  const reason = found.unreachable ?? (found.kind === "other" ? found.reason : undefined);
  if (reason !== undefined) return { kind: "file_unreachable", path, reason };
  const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
  return withoutUndefined({ kind, path, interrupted });
}

/**
 * How to settle a conflict.
 *
 * - `use_current` (for a deleted or unreachable file: `skip`): keeps what is there now.
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
  file_unreachable: ["skip", "abort"],
  git_state_changed: ["use_current", "use_checkpoint", "abort"],
};
