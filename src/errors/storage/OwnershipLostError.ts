import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * Another owner took over the agent. An append that rejects with this error is possibly stored. Read the log to find
 * out.
 */
export class OwnershipLostError extends AgentPersistenceError {
  override readonly code = "ownership_lost";

  constructor(
    readonly agentId: string,
    readonly generation: number,
    /** The generation of the new owner. Omitted if unknown. */
    readonly successor?: number,
  ) {
    const now = successor === undefined ? "another owner" : `generation ${successor}`;
    super(
      `Agent ${quoted(agentId)} was owned as generation ${generation} and now belongs to ${now}. ` +
        `The last append is possibly stored. Open the agent again and read its log.`,
    );
  }
}
