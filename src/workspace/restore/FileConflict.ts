/** A file that is neither as the agent left it nor as the checkpoint has it. Paths are relative to the root. */
export type FileConflict =
  | { readonly kind: "file_modified_externally"; readonly path: string }
  | { readonly kind: "file_deleted"; readonly path: string };

/**
 * How a conflict is settled.
 *
 * - `use_current` (of a deleted file: `skip`): the file stays as it is.
 * - `use_checkpoint` (of a deleted file: `restore`): the file becomes what it was at the checkpoint. What it was now is kept
 *   in the agent's log.
 * - `merge`: what the agent changed is taken out of the file as it is now; only where that is clean.
 * - `abort`: the rollback is refused, and nothing has changed.
 */
export type FileResolution = "use_current" | "use_checkpoint" | "merge" | "restore" | "skip" | "abort";

/** What may be answered to each kind of conflict. */
export const fileResolutions: Readonly<Record<FileConflict["kind"], readonly FileResolution[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
};
