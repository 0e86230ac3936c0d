import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A path leads outside the workspace, through a link, or into a repository's `.git`. Nothing was read or written there. */
export class PathNotAllowedError extends AgentPersistenceError {
  override readonly code = "path_not_allowed";

  constructor(
    /** The path as it was given. */
    readonly path: string,
    /** What is wrong with it. */
    readonly reason: string,
  ) {
    super(
      `The path ${JSON.stringify(path)} is not allowed: ${reason}. ` +
        'Give the path of a file inside the workspace, relative to its root, such as "src/main.ts".',
    );
  }
}
