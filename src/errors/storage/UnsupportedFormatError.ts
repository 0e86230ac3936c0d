import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** What is stored was written by a newer version of this library. Nothing was changed. */
export class UnsupportedFormatError extends AgentPersistenceError {
  override readonly code = "unsupported_format";
  /** What was read: a file, a row. */
  readonly subject: string;
  readonly found: number;
  /** The newest format that this version reads. */
  readonly supported: number;

  constructor(subject: string, found: number, supported: number) {
    super(
      `${subject} is in format ${found}; this version reads formats up to ${supported}. Update agent-persistence to read it.`,
    );
    this.subject = subject;
    this.found = found;
    this.supported = supported;
  }
}
