import { z } from "zod";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import type { AgentSummary, RecordLog } from "../storage/RecordLog.ts";
import { agentSummary } from "../journal/agentSummary.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { listSummaries, isAboutOneAgent, unreadable, unreadableSummary } from "../storage/summaries.ts";
import { readHead } from "../storage/readHead.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema, abortSignalSchema } from "../internal/options/optionSchemas.ts";
import { BoundPersistence } from "./BoundPersistence.ts";
import { assertPrunable, type PersistenceSetup } from "./config/PersistenceSetup.ts";
import { type AnswerOptions, DurableAgent } from "./DurableAgent.ts";
import type { RecoveryParticipant } from "../environment/RecoveryParticipant.ts";
import type { EventBody } from "../listeners/PersistenceEvent.ts";
import type { MigrationCheck } from "./migration/checkMigrations.ts";
import type { PruneOptions, PruneReport } from "./retention/pruneStorage.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import type { AgentRequest, RequestFilter } from "./waiting/listRequests.ts";

/** An unfinished run without a living owner, or an unreadable agent, which may have such a run. */
export type UnfinishedRun =
  | {
      readonly agentId: string;
      readonly runId: string;
      /**
       * `interrupted`: the process of the run ended, or the signal was aborted. `paused`: a move from outside a run
       * paused the agent, or is not finished. `failed`: the run rejected. `waiting`: the run needs an answer. When all
       * requests are answered, it becomes `interrupted`.
       */
      readonly status: "interrupted" | "waiting" | "paused" | "failed";
    }
  | {
      readonly agentId: string;
      readonly status: "unreadable";
      /** The code of the error when reading the agent, such as `corrupt_log`. */
      readonly code: string;
      readonly reason: string;
    };

/** Selects agents by id or by task name, for example the agents of one definition. */
export type AgentFilter = (agent: { readonly agentId: string; readonly taskName?: string }) => boolean;

export interface UnfinishedOptions {
  /** Includes runs that rejected. Defaults to false. */
  readonly includeFailed?: boolean | undefined;
  /** Selects the agents for which this function returns true. Defaults to all agents, even of other definitions. */
  readonly only?: AgentFilter | undefined;
  /** When it aborts, the listing ends with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

const selectionShape = { only: functionSchema().optional(), signal: abortSignalSchema.optional() };
const checkSchemaOptions = strictOptions(() => selectionShape);
const unfinishedSchema = strictOptions(() => ({ includeFailed: z.boolean().optional(), ...selectionShape }));

/**
 * The methods that `install(Persistence)` adds to an agent definition, as `persistence(agent)` returns them.
 *
 * @example
 * ```ts
 * for await (const { agentId, status } of persistence(agent).unfinished()) {
 *   if (status === "interrupted") await agent.resume({ agentId });
 * }
 * ```
 */
export class PersistenceFeature {
  readonly #setup: PersistenceSetup;

  constructor(setup: PersistenceSetup) {
    this.#setup = setup;
  }

  /** The default agent id of runs. */
  get agentId(): string {
    return this.#setup.agentId;
  }

  /** The configured storage. Defaults to a storage that stores no data. */
  get storage(): PersistenceStorageProvider {
    return this.#setup.storageKey;
  }

  get recoveryParticipants(): readonly RecoveryParticipant[] {
    return this.#setup.participants.flatMap(({ recovery }) => recovery ?? []);
  }

  of(context: AgentContext): RunPersistence {
    return new BoundPersistence(context);
  }

  /**
   * Returns a durable agent for use outside its runs.
   *
   * @param agentId defaults to the definition's agent id.
   * @throws DefaultIdSharedError
   */
  agent(agentId: string = this.#setup.agentId): DurableAgent {
    this.#setup.takeId(agentId);
    this.#setup.lastAgentId = agentId;
    return new DurableAgent(agentId, this.#setup);
  }

  /** Passes an event to `onEvent`, for features that extend Persistence. */
  tell(event: EventBody): void {
    this.#setup.tell(event);
  }

  /**
   * Deletes surplus checkpoints and expired finished agents according to the retention policy. Skips agents with an
   * owner and reports them.
   *
   * @throws PruningNotSupportedError for a three-method storage.
   */
  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    assertPrunable(this.#setup.log, "prune()");
    const { pruneStorage } = await import("./retention/pruneStorage.ts");
    return pruneStorage(this.#setup, options);
  }

  /**
   * Deletes an agent and all its data. The id can then be used for another agent. An earlier owner cannot restore the
   * agent.
   *
   * @throws AgentBusyError while the agent runs.
   * @throws WrongShapeError for the log of a graph thread or a session.
   * @throws PruningNotSupportedError for a three-method storage.
   */
  async deleteAgent(agentId: string): Promise<void> {
    assertPrunable(this.#setup.log, "deleteAgent()");
    const { deleteAgent } = await import("./retention/pruneStorage.ts");
    await deleteAgent(this.#setup, agentId);
  }

  /**
   * Lists the unfinished runs by status, then by creation time of their agents. Resume these runs after a restart.
   * Unreadable agents are last, each with the reason.
   *
   * @throws NotSupportedError for a three-method storage, which cannot list its agents.
   */
  async *unfinished(options: UnfinishedOptions = {}): AsyncGenerator<UnfinishedRun> {
    checkSchema(unfinishedSchema, options, "options of unfinished()");
    this.#assertListable("unfinished()");
    const { includeFailed = false, only = () => true, signal } = options;
    const statuses = ["in_progress", "waiting", "paused", ...(includeFailed ? ["failed"] : []), unreadable];
    const found = new Map(statuses.map((status): [string, AgentSummary[]] => [status, []]));
    for await (const summary of listSummaries(this.#setup.log, { status: statuses })) {
      signal?.throwIfAborted();
      found.get(summary.status)?.push(summary);
    }
    for (const summary of [...found.values()].flat()) {
      signal?.throwIfAborted();
      if (!only(shownOf(summary))) continue;
      const run = await this.#unfinishedRun(summary, statuses).catch((error: unknown) =>
        unreadableRun(summary.agentId, error),
      );
      if (run) yield run;
    }
  }

  /**
   * Reports for each unfinished agent whether the current code can continue it. Call it before you deploy. It takes no
   * ownership and writes no data, because migrations run on copies.
   *
   * @param options `only`: checks only agents for which it returns true. Defaults to all agents in the storage, even of
   *   other definitions. `signal`: when it aborts, the listing ends with the reason of the signal, even during a
   *   migration.
   * @throws NotSupportedError for a three-method storage, which cannot list its agents.
   */
  async *checkMigrations(options: Omit<UnfinishedOptions, "includeFailed"> = {}): AsyncGenerator<MigrationCheck> {
    checkSchema(checkSchemaOptions, options, "options of checkMigrations()");
    const { only = () => true, signal = new AbortController().signal } = options;
    this.#assertListable("checkMigrations()");
    const isAsked = (summary: AgentSummary): boolean => {
      signal.throwIfAborted();
      return only(shownOf(summary));
    };
    const { checkMigrations } = await import("./migration/checkMigrations.ts");
    yield* checkMigrations(this.#setup, isAsked, signal);
  }

  /**
   * Lists the open requests of every waiting agent in the storage, even of other definitions. A three-method storage
   * cannot list its agents, so the list is empty.
   */
  async *listRequests(filter: RequestFilter = {}): AsyncGenerator<AgentRequest> {
    const { listRequests, requestFilterSchema } = await import("./waiting/listRequests.ts");
    checkSchema(requestFilterSchema, filter, "filter of listRequests()");
    yield* listRequests(this.#setup.log, filter);
  }

  /** Answers a request of any agent. See {@link DurableAgent.answer}. @throws the errors of `DurableAgent.answer`. */
  async answer(requestId: string, answer: unknown, options: AnswerOptions = {}): Promise<void> {
    await (await this.#waitingFor(requestId)).answer(requestId, answer, options);
  }

  /** Rejects a request of any agent. See {@link DurableAgent.reject}. @throws the errors of `DurableAgent.reject`. */
  async reject(requestId: string, reason: string, options: Omit<AnswerOptions, "digest"> = {}): Promise<void> {
    await (await this.#waitingFor(requestId)).reject(requestId, reason, options);
  }

  #assertListable(operation: string): void {
    if (this.#setup.log.capabilities.keeps === "checkpoints")
      throw new NotSupportedError(operation, "a list of its agents");
  }

  async #waitingFor(requestId: string): Promise<DurableAgent> {
    checkSchema(z.string(), requestId, "request id");
    const { agentOfRequest } = await import("./waiting/listRequests.ts");
    return new DurableAgent(await agentOfRequest(this.#setup.log, requestId), this.#setup);
  }

  async #unfinishedRun(listed: AgentSummary, statuses: readonly string[]): Promise<UnfinishedRun | undefined> {
    if (listed.status === unreadable) return unreadableOf(listed);
    const { agentId } = listed;
    const { runId, status = "" } = (await newestOf(this.#setup.log, listed)) ?? {};
    if (runId === undefined || !statuses.includes(status)) return undefined;
    if (status !== "in_progress") return { agentId, runId, status: status as "waiting" | "paused" | "failed" };
    const owner = await this.#setup.log.owner(agentId);
    return owner?.state === "alive" ? undefined : { agentId, runId, status: "interrupted" };
  }
}

/** Reads the current status from the log, because an eventually consistent listing can be outdated. */
async function newestOf(log: RecordLog, listed: AgentSummary): Promise<AgentSummary | undefined> {
  if (log.capabilities.listing !== "eventual") return listed;
  using head = await readHead(log, listed.agentId);
  return agentSummary(listed.agentId, head.log.index.statusState);
}

function shownOf({ agentId, taskName }: AgentSummary): Parameters<AgentFilter>[0] {
  return { agentId, ...(taskName !== undefined && { taskName }) };
}

function unreadableRun(agentId: string, error: unknown): UnfinishedRun {
  if (!isAboutOneAgent(error)) throw error;
  return unreadableOf(unreadableSummary(agentId, error));
}

function unreadableOf({ agentId, data }: AgentSummary): UnfinishedRun {
  const { code, message } = data as { readonly code?: unknown; readonly message?: unknown };
  return { agentId, status: unreadable, code: String(code), reason: String(message) };
}
