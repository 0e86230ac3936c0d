import type { AgentContext } from "../agent/AgentContext.ts";
import type { AgentSummary } from "../storage/RecordLog.ts";
import { BoundPersistence } from "./BoundPersistence.ts";
import { DurableAgent } from "./DurableAgent.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import type { RunSessions } from "./RunSessions.ts";

/** A run that has not ended and that no process carries on. */
export interface UnfinishedRun {
  readonly agentId: string;
  readonly runId: string;
  /**
   * `interrupted`: its process ended in the middle, or its signal was aborted. `paused`: somebody moved it from outside.
   * `failed`: it rejected. `waiting`: for a person; nothing in this version waits.
   */
  readonly status: "interrupted" | "waiting" | "paused" | "failed";
}

/** Which unfinished runs to list. */
export interface UnfinishedOptions {
  /** Also runs that rejected; they are resumed only on purpose. Default false. */
  readonly includeFailed?: boolean;
  /** Aborting it ends the listing with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** What `install(Persistence)` adds to an agent definition. */
export class PersistenceFeature {
  readonly #setup: PersistenceSetup;
  readonly #sessions: RunSessions;

  constructor(setup: PersistenceSetup, sessions: RunSessions) {
    this.#setup = setup;
    this.#sessions = sessions;
  }

  /** Durability inside a run, bound to a context. */
  of(context: AgentContext): RunPersistence {
    return new BoundPersistence(context, this.#setup, this.#sessions);
  }

  /** One durable agent from outside. @param agentId default: the agent's own id. */
  agent(agentId: string = this.#setup.agentId): DurableAgent {
    this.#setup.lastAgentId = agentId;
    return new DurableAgent(agentId, this.#setup);
  }

  /**
   * What a restart should look at: by status, and within a status in the order in which the agents were created. A
   * provider of three methods cannot list its agents, so with one there is nothing here.
   */
  async *unfinished({ includeFailed = false, signal }: UnfinishedOptions = {}): AsyncGenerator<UnfinishedRun> {
    const statuses = ["in_progress", "waiting", "paused", ...(includeFailed ? ["failed"] : [])];
    for (const status of statuses) {
      for await (const summary of this.#setup.log.list({ status })) {
        signal?.throwIfAborted();
        const run = await this.#unfinishedRun(summary);
        if (run) yield run;
      }
    }
  }

  async #unfinishedRun({ agentId, runId, status }: AgentSummary): Promise<UnfinishedRun | undefined> {
    if (runId === undefined) return undefined;
    if (status !== "in_progress") return { agentId, runId, status: status as UnfinishedRun["status"] };
    const owner = await this.#setup.log.owner(agentId);
    return owner?.state === "alive" ? undefined : { agentId, runId, status: "interrupted" };
  }
}
