import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Who owns a log, as an error names it. */
export interface BusyOwner {
  readonly host: string;
  readonly processId: number;
  readonly nonce: string;
  readonly generation: number;
}

/** Another owner has the agent. Nothing was changed. */
export class AgentBusyError extends AgentPersistenceError {
  override readonly code = "agent_busy";
  readonly agentId: string;
  readonly owner: BusyOwner;
  /** Milliseconds after which a new attempt would find out whether the owner still renews its lease. */
  readonly retryAfterMs: number;

  constructor(agentId: string, owner: BusyOwner, retryAfterMs: number) {
    super(
      `Agent ${JSON.stringify(agentId)} is owned by process ${owner.processId} on ${owner.host} (generation ${owner.generation}). ` +
        `Try again in ${retryAfterMs} ms, or ask that owner to stop.`,
    );
    this.agentId = agentId;
    this.owner = owner;
    this.retryAfterMs = retryAfterMs;
  }
}
