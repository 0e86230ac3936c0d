/** A file that others changed or deleted since the agent last changed it. Paths are relative to the root. */
export type FileConflict =
  | { readonly kind: "file_modified_externally"; readonly path: string }
  | { readonly kind: "file_deleted"; readonly path: string };

/**
 * How to settle a conflict.
 *
 * - `use_current` (for a deleted file: `skip`): keeps the file as it is.
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
