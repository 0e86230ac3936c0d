import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An agent was not recovered: a decision was against it, or its stored state cannot be continued. Nothing has changed. */
export class RecoveryRefusedError extends AgentPersistenceError {
  override readonly code = "recovery_refused";

  constructor(
    readonly agentId: string,
    /** Why, as a clause without a period. */
    readonly reason: string,
  ) {
    super(`Agent ${quoted(agentId)} was not recovered: ${reason}. Nothing has changed.`);
  }
}
