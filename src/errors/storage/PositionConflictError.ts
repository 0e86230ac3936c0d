import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An append expected the log to end at a different position. The records were not stored. */
export class PositionConflictError extends AgentPersistenceError {
  override readonly code = "position_conflict";

  constructor(
    readonly agentId: string,
    /** The last position that the append expected. */
    readonly expected: number,
    readonly found: number,
  ) {
    super(
      `An append to agent ${quoted(agentId)} expected the last position to be ${expected}, but found ${found}. ` +
        `Read the log from there, and append again if the records still apply.`,
    );
  }
}
