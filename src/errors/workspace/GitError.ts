import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A git command failed, because git is not installed, the repository is missing or git reported an error. */
export class GitError extends AgentPersistenceError {
  override readonly code = "git_failed";
  /** The effects on the repository and the work tree, as a sentence. */
  readonly changed: string;

  constructor(
    /** The git command, such as `rev-list`. Empty if git was not called. */
    readonly command: string,
    /** The error message of git, or the reason why git was not called. */
    readonly reason: string,
    { changed = "Nothing was changed.", ...options }: ErrorCause & { readonly changed?: string } = {},
  ) {
    super(`git ${command === "" ? "" : `${command} `}failed: ${reason}. ${changed}`, options);
    this.changed = changed;
  }
}
