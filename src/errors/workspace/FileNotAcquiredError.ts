import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A file was to be committed whose version was not acquired before. Nothing was written. */
export class FileNotAcquiredError extends AgentPersistenceError {
  override readonly code = "file_not_acquired";
  readonly path: string;

  constructor(path: string) {
    super(
      `${JSON.stringify(path)} cannot be committed: its version was not acquired. ` +
        "Call acquire first, and make the content from what it found.",
    );
    this.path = path;
  }
}
