import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The owner of an agent. */
export interface BusyOwner {
  readonly host: string;
  readonly processId: number;
  /** Distinguishes this owner from other owners in the same process. */
  readonly nonce: string;
  /** The ownership number. Each new owner of an agent gets a higher number. */
  readonly generation: number;
}

/** Another owner holds the agent. The stored state is unchanged. */
export class AgentBusyError extends AgentPersistenceError {
  override readonly code = "agent_busy";
  /** The delay in whole milliseconds after which a new attempt can tell whether the owner still renews its lease. */
  readonly retryAfterMs: number;

  constructor(
    readonly agentId: string,
    readonly owner: BusyOwner,
    retryAfterMs: number,
    /** Whether the agent runs in this process. */
    readonly inThisProcess: boolean = false,
  ) {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    super(
      inThisProcess
        ? `A run of agent ${quoted(agentId)} is in progress in this process. Wait until it finishes, ` +
            `or choose how another run handles this: whenBusy: "queue" | "join" | "replace".`
        : `Agent ${quoted(agentId)} is owned by process ${owner.processId} on ${owner.host} (generation ${owner.generation}). ` +
            `If that process crashed, another process can take over the agent in at most ${seconds} s. Otherwise wait until its run finishes.`,
    );
    this.retryAfterMs = Math.ceil(retryAfterMs);
  }
}
