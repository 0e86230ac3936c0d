import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Another owner has taken the agent over. The outcome of an append that rejects with this is unknown: read it back. */
export class OwnershipLostError extends AgentPersistenceError {
  override readonly code = "ownership_lost";
  readonly agentId: string;
  /** The generation that was lost. */
  readonly generation: number;
  /** The generation of the owner that came after, if it is known. */
  readonly successor: number | undefined;

  constructor(agentId: string, generation: number, successor?: number) {
    const now = successor === undefined ? "another owner" : `generation ${successor}`;
    super(
      `Agent ${JSON.stringify(agentId)} was owned as generation ${generation} and now belongs to ${now}. ` +
        `Whether the last append was stored is unknown; open the agent again and read it.`,
    );
    this.agentId = agentId;
    this.generation = generation;
    this.successor = successor;
  }
}
