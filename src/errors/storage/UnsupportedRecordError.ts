import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A log contains a record of a kind that only a newer version of this library knows. The log is unchanged. */
export class UnsupportedRecordError extends AgentPersistenceError {
  override readonly code = "unsupported_record";

  constructor(
    /** The unknown kind. */
    readonly recordKind: string,
    /** The position of the append that contains the record. */
    readonly position: number,
  ) {
    super(
      `Append ${position} of the log has a record of the kind ${quoted(recordKind)}, which a newer ` +
        `version of agent-persistence wrote. Skipping the record would change the state of the agent. Update agent-persistence to read it.`,
    );
  }
}
