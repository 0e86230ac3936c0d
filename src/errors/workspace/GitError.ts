import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A git command failed: git is not installed, there is no repository, or git reported an error. */
export class GitError extends AgentPersistenceError {
  override readonly code = "git_failed";

  constructor(
    /** The git command, such as `rev-list`. */
    readonly command: string,
    /** What git reported, or why it was not called. */
    readonly reason: string,
    options?: ErrorCause,
  ) {
    super(`git ${command} failed: ${reason}. The command changed nothing; check the repository by hand.`, options);
  }
}
