import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A newer version of this library wrote the stored data. The data is unchanged. */
export class UnsupportedFormatError extends AgentPersistenceError {
  override readonly code = "unsupported_format";

  constructor(
    /** The file or row with the data. */
    readonly subject: string,
    readonly found: number,
    /** The newest format version that this library can read. */
    readonly supported: number,
  ) {
    super(
      `${subject} has format ${found}, but this version reads formats up to ${supported}. Update agent-persistence to read it.`,
    );
  }
}
