/** A difference between the environment and the record or requirements of a checkpoint. */
export type EnvironmentMismatch =
  | { readonly kind: "working_directory_missing"; readonly path: string }
  /**
   * Other parties changed the content since the checkpoint, or since the agent changed the file. Both hashes are
   * SHA-256 in hex. `expected` is omitted if the agent deleted the file. `found` may be `unreadable`.
   */
  | {
      readonly kind: "file_modified_externally";
      readonly path: string;
      readonly expected?: string;
      readonly found: string;
    }
  | { readonly kind: "file_deleted"; readonly path: string }
  /** `found` is a version, if any. */
  | {
      readonly kind: "environment_not_satisfied";
      readonly name: string;
      readonly wanted: string;
      readonly found?: string;
    }
  /** Found by a recovery participant. */
  | { readonly kind: "new_commits_upstream"; readonly detail: string };

/** Returns one line for people. */
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
