import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Stored data was written by a newer version of this library. Nothing was changed. */
export class UnsupportedFormatError extends AgentPersistenceError {
  override readonly code = "unsupported_format";

  constructor(
    /** The file or row that was read. */
    readonly subject: string,
    readonly found: number,
    /** The newest format version that this library reads. */
    readonly supported: number,
  ) {
    super(
      `${subject} has format ${found}; this version reads formats up to ${supported}. Update agent-persistence to read it.`,
    );
  }
}
