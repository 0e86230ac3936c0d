import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A file of a workspace could not be read or written. */
export class FileAccessError extends AgentPersistenceError {
  readonly code = "file_access_failed";
  /** Relative to the root of the workspace. */
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string, options?: { readonly cause?: unknown }) {
    super(`The file ${JSON.stringify(path)} cannot be used: ${reason}.`, options);
    this.path = path;
    this.reason = reason;
  }
}
