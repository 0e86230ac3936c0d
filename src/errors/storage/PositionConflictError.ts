import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An append expected another end of the log. Nothing was stored. */
export class PositionConflictError extends AgentPersistenceError {
  override readonly code = "position_conflict";
  readonly agentId: string;
  /** The position that the append expected as the last. */
  readonly expected: number;
  /** The last position of the log. */
  readonly found: number;

  constructor(agentId: string, expected: number, found: number) {
    super(
      `An append to agent ${JSON.stringify(agentId)} expected position ${expected} as the last and found ${found}. ` +
        `Read the log from there and decide again.`,
    );
    this.agentId = agentId;
    this.expected = expected;
    this.found = found;
  }
}
