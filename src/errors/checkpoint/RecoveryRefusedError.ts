import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Recovery was refused by a decision, or the stored state cannot be continued. The stored state is unchanged. */
export class RecoveryRefusedError extends AgentPersistenceError {
  override readonly code = "recovery_refused";

  constructor(
    readonly agentId: string,
    /** The reason, as a clause without a period. */
    readonly reason: string,
  ) {
    super(`Agent ${quoted(agentId)} was not recovered: ${reason}. The stored state is unchanged.`);
  }
}
