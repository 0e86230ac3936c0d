import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * A path points outside the workspace, through a link, or into the `.git` of a repository. The path was neither read
 * nor written.
 */
export class PathNotAllowedError extends AgentPersistenceError {
  override readonly code = "path_not_allowed";

  constructor(
    readonly path: string,
    /** The reason. */
    readonly reason: string,
  ) {
    super(
      `The path ${JSON.stringify(path)} is not allowed: ${reason}. ` +
        'Give the path of a file inside the workspace, relative to its root, such as "src/main.ts".',
    );
  }
}
