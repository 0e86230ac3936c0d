import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** What can be done about a mismatch. */
export type RecoveryOption =
  | "use_current"
  | "use_checkpoint"
  | "merge"
  | "restore"
  | "skip"
  | "ignore"
  | "rebase"
  | "abort";

/** What there is to choose from for each kind of mismatch, whether or not somebody is there who can do it. */
export const recoveryOptions: Readonly<Record<EnvironmentMismatch["kind"], readonly RecoveryOption[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  new_commits_upstream: ["ignore", "rebase", "abort"],
  environment_not_satisfied: ["ignore", "abort"],
  working_directory_missing: ["ignore", "abort"],
};

/** What leaves things as they are needs nobody to do it. */
export const needsNobody: ReadonlySet<RecoveryOption> = new Set(["use_current", "skip", "ignore", "abort"]);
