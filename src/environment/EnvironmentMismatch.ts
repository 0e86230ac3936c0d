/** A difference between the environment and what a checkpoint recorded or requires. */
export type EnvironmentMismatch =
  | { readonly kind: "working_directory_missing"; readonly path: string }
  /**
   * Others changed the content since the checkpoint was saved, or since the agent changed the file. Both are SHA-256 in hex;
   * without `expected` the agent had deleted the file, and `found` may be `unreadable`.
   */
  | {
      readonly kind: "file_modified_externally";
      readonly path: string;
      readonly expected?: string;
      readonly found: string;
    }
  | { readonly kind: "file_deleted"; readonly path: string }
  /** `found` is a version; absent: there is none. */
  | {
      readonly kind: "environment_not_satisfied";
      readonly name: string;
      readonly wanted: string;
      readonly found?: string;
    }
  /** Found by a participant of the recovery. */
  | { readonly kind: "new_commits_upstream"; readonly detail: string };

/** One line for people. */
export function describeMismatch(mismatch: EnvironmentMismatch): string {
  switch (mismatch.kind) {
    case "working_directory_missing":
      return `the working directory ${mismatch.path} is missing`;
    case "file_modified_externally":
      return mismatch.expected === undefined
        ? `${mismatch.path} exists again, and the agent had deleted it`
        : `${mismatch.path} was changed since the checkpoint was saved`;
    case "file_deleted":
      return `${mismatch.path} is missing`;
    case "environment_not_satisfied":
      return `${mismatch.name} must be ${mismatch.wanted} and is ${mismatch.found ?? "not"}`;
    case "new_commits_upstream":
      return mismatch.detail;
  }
}
