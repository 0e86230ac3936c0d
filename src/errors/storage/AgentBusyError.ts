import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The owner of an agent. */
export interface BusyOwner {
  readonly host: string;
  readonly processId: number;
  /** Tells this owner apart from others of the same process. */
  readonly nonce: string;
  /** The number of the ownership: each owner of an agent has a higher one than the owner before. */
  readonly generation: number;
}

/** Another owner has the agent. Nothing has changed. */
export class AgentBusyError extends AgentPersistenceError {
  override readonly code = "agent_busy";
  /** Whole milliseconds after which a new attempt can tell whether the owner still renews its lease. */
  readonly retryAfterMs: number;

  constructor(
    readonly agentId: string,
    readonly owner: BusyOwner,
    retryAfterMs: number,
    /** Whether this process is running the agent. */
    readonly inThisProcess: boolean = false,
  ) {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    super(
      inThisProcess
        ? `A run of agent ${quoted(agentId)} is in progress in this process. Wait until it ends, ` +
            `or choose what another run does meanwhile: whenBusy: "queue" | "join" | "replace".`
        : `Agent ${quoted(agentId)} is owned by process ${owner.processId} on ${owner.host} (generation ${owner.generation}). ` +
            `If that process has died, the agent can be taken over in ${seconds} s at the latest. Otherwise wait until its run ends.`,
    );
    this.retryAfterMs = Math.ceil(retryAfterMs);
  }
}
