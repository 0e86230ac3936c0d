import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Git could not do what it was asked for: it is not installed, this is no repository, or a command failed. */
export class GitError extends AgentPersistenceError {
  override readonly code = "git_failed";
  /** The git command, such as `rev-list`. */
  readonly command: string;
  /** What git said, or why it was not asked. */
  readonly reason: string;

  constructor(command: string, reason: string, options?: { readonly cause?: unknown }) {
    super(`git ${command} failed: ${reason}. Nothing was changed by it; look at the repository by hand.`, options);
    this.command = command;
    this.reason = reason;
  }
}
