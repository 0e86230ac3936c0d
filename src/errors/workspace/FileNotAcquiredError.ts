import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A file was to be committed whose version was not acquired first. `path` is relative to the root. Nothing was written. */
export class FileNotAcquiredError extends AgentPersistenceError {
  override readonly code = "file_not_acquired";

  constructor(readonly path: string) {
    super(
      `${JSON.stringify(path)} cannot be committed: its version was not acquired. ` +
        "Call acquire first, and derive the new content from the one that it found.",
    );
  }
}
