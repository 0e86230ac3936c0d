import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Another owner has taken over the agent. An append that rejects with this may or may not be stored: read the log. */
export class OwnershipLostError extends AgentPersistenceError {
  override readonly code = "ownership_lost";

  constructor(
    readonly agentId: string,
    readonly generation: number,
    /** The generation of the new owner; absent when it is not known. */
    readonly successor?: number,
  ) {
    const now = successor === undefined ? "another owner" : `generation ${successor}`;
    super(
      `Agent ${quoted(agentId)} was owned as generation ${generation} and now belongs to ${now}. ` +
        `The last append may or may not be stored: open the agent again and read its log.`,
    );
  }
}
