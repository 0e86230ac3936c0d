import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A git command failed: git is not installed, there is no repository, or git reported an error. */
export class GitError extends AgentPersistenceError {
  override readonly code = "git_failed";
  /** What has changed in the repository and the work tree, and what has not. */
  readonly changed: string;

  constructor(
    /** The git command, such as `rev-list`; empty when none was called. */
    readonly command: string,
    /** What git reported, or why it was not called. */
    readonly reason: string,
    { changed = "Nothing was changed.", ...options }: ErrorCause & { readonly changed?: string } = {},
  ) {
    super(`git ${command === "" ? "" : `${command} `}failed: ${reason}. ${changed}`, options);
    this.changed = changed;
  }
}
