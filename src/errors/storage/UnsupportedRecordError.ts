import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A log contains a kind of record that only a newer version of this library knows. Nothing was changed. */
export class UnsupportedRecordError extends AgentPersistenceError {
  override readonly code = "unsupported_record";

  constructor(
    /** The kind that this version does not know. */
    readonly recordKind: string,
    /** The position of the append that contains it. */
    readonly position: number,
  ) {
    super(
      `Append ${position} of the log has a record of the kind ${quoted(recordKind)}, which a newer ` +
        `version of agent-persistence wrote. Without it the agent would not be read as it is. Update agent-persistence to read it.`,
    );
  }
}
