import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A file of a workspace could not be read or written. */
export class FileAccessError extends AgentPersistenceError {
  override readonly code = "file_access_failed";

  constructor(
    /** Relative to the root of the workspace. */
    readonly path: string,
    /** The reason, as a phrase that follows the file name, such as `is a folder`. */
    readonly reason: string,
    options?: ErrorCause,
  ) {
    super(`The file ${JSON.stringify(path)} ${reason}.`, options);
  }
}
