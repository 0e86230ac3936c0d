import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A path leads out of the workspace, through a link, or into a repository's `.git`. Nothing was read or written there. */
export class PathNotAllowedError extends AgentPersistenceError {
  readonly code = "path_not_allowed";
  readonly path: string;
  /** What is wrong with it. */
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(
      `The path ${JSON.stringify(path)} is not allowed: ${reason}. ` +
        'Give the path of a file inside the workspace, relative to its root, such as "src/main.ts".',
    );
    this.path = path;
    this.reason = reason;
  }
}
