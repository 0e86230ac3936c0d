import { z } from "zod";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import { platformSha256 } from "../internal/sha256/platformSha256.ts";
import { findCheckpoint, findRollbackGoal } from "../journal/findCheckpoint.ts";
import { contentReader, type ReadContent } from "../journal/notesAround.ts";
import { checkpointContent, type ContentOptions, checkpointDifference } from "./show/checkpointContent.ts";
import { notedFiles } from "./show/changesView.ts";
import { rollbackPreview } from "./show/rollbackView.ts";
import type { CheckpointContent, CheckpointDifference, CheckpointsPage } from "./view/CheckpointView.ts";
import type { NotedFileChange, EntryView } from "./view/viewParts.ts";
import type { RollbackPreview } from "./view/RollbackView.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { StorageNotListableError } from "../errors/storageErrors.ts";
import { pause } from "../internal/abortable.ts";
import { type Clock, systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  clockSchema,
  integerFrom,
  nonEmptyString,
  numberFrom,
} from "../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { logStorageOf } from "../storage/checkpoints/CheckpointRecordLog.ts";
import { keyStatus, listLogs } from "../storage/summaries.ts";
import { type PersistenceStorageProvider, providerSchema } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { openedLogs } from "./log/readIndex.ts";
import { agentView, ownerView } from "./show/agentView.ts";
import { checkpoints } from "./show/checkpointView.ts";
import { listedAgent, withStuck, readProgress } from "./show/listedAgent.ts";
import type { PageOptions } from "./log/pageOf.ts";
import { type Source, withValues } from "./show/Source.ts";
import { steps } from "./show/stepView.ts";
import { type AgentStatus, agentStatuses, type AgentView, type ListedAgent } from "./view/AgentView.ts";
import type { StepsPage } from "./view/StepView.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";

export interface InspectOptions {
  /**
   * The approximate maximum number of characters and items in a value. Larger values are truncated and marked as cut.
   * `Infinity` shows everything. Defaults to 100,000.
   */
  readonly maxValueLength?: number | undefined;
  /** The clock for the polls of `follow`. Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

export interface AgentsFilter {
  /** Selects agents with this status, or with one of these statuses. Defaults to all. */
  readonly status?: Exclude<AgentStatus, "unknown"> | readonly Exclude<AgentStatus, "unknown">[] | undefined;
  /** Selects agents after this position, which is the `cursor` of a listed agent. Defaults to the start of the list. */
  readonly after?: string | undefined;
  /** The maximum number of agents. Defaults to all. */
  readonly limit?: number | undefined;
  /**
   * Whether to explain why agents in progress are stuck, and to show their progress. This looks up the owner and reads
   * the log of each agent in progress. For a running agent, it reads only the log since the newest snapshot. Defaults
   * to `false`.
   */
  readonly explain?: boolean | undefined;
}

export interface RecordsOptions {
  /** Selects appends at a higher position. Defaults to 0. */
  readonly after?: number | undefined;
  /** Selects appends up to this position, inclusive. Defaults to the end. */
  readonly upTo?: number | undefined;
  /** The maximum number of appends. Defaults to all. */
  readonly limit?: number | undefined;
}

export interface FollowOptions {
  /** Selects appends at a higher position. Defaults to 0, which starts with all existing appends. */
  readonly after?: number | undefined;
  /** Ends the iteration when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** The poll interval in milliseconds. Defaults to 500. */
  readonly everyMs?: number | undefined;
}

const defaultMaxValueLength = 100_000;
const defaultPollMs = 500;

const optionsSchema = strictOptions(() => ({
  maxValueLength: integerFrom(0).optional(),
  clock: clockSchema.optional(),
}));
const agentStatusSchema = z.enum(agentStatuses);
const filterSchema = strictOptions(() => ({
  status: z
    .union([agentStatusSchema, z.array(agentStatusSchema)], {
      error: `expected one or several of ${agentStatuses.map((status) => JSON.stringify(status)).join(", ")}`,
    })
    .optional(),
  after: nonEmptyString.optional(),
  limit: integerFrom(0).optional(),
  explain: z.boolean().optional(),
}));
const pageSchema = strictOptions(() => ({
  before: z.number().optional(),
  after: z.number().optional(),
  limit: integerFrom(1).optional(),
}));
const recordsSchema = strictOptions(() => ({
  after: integerFrom(0).optional(),
  upTo: integerFrom(0).optional(),
  limit: integerFrom(0).optional(),
}));
const contentSchema = strictOptions(() => ({
  messagesLimit: integerFrom(0).optional(),
  messagesBefore: integerFrom(0).optional(),
}));
const followSchema = strictOptions(() => ({
  after: integerFrom(0).optional(),
  signal: abortSignalSchema.optional(),
  everyMs: numberFrom(1).optional(),
}));

/**
 * Shows the content of a storage without the code of its agents. An inspector takes no ownership, writes nothing, and
 * works while agents run. All results are plain JSON. Do not trust content from a log.
 *
 * An unknown agent has empty pages, and its view is `undefined`. In a damaged log, the views report the damage and show
 * the content before it. If a checkpoint is not in this part, the methods throw the error of the damage.
 */
export class AgentInspector {
  readonly #log: RecordLog;
  readonly #opened: ReturnType<typeof openedLogs>;
  /** Caches the last blob of each open log, because one blob contains the files that a tool call changed. */
  readonly #contents = new WeakMap<LogProjection, ReadContent>();
  readonly #maxValueLength: number;
  readonly #clock: Clock;

  /** @throws InvalidInputError if an argument is invalid. */
  constructor(storage: PersistenceStorageProvider, options: InspectOptions = {}) {
    checkSchema(providerSchema, storage, "storage of inspect()");
    checkSchema(optionsSchema, options, "options of inspect()");
    this.#log = logStorageOf(storage).log;
    this.#opened = openedLogs(this.#log);
    this.#maxValueLength = options.maxValueLength ?? defaultMaxValueLength;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Lists the agents of the storage. Tasks come first, by descending priority and then by age. Agents without a task
   * and tasks with a queue follow, and then logs of other kinds, except data keys. Unreadable agents have the status
   * `unreadable`.
   *
   * @throws InvalidInputError if the filter is invalid.
   * @throws StorageNotListableError if the storage cannot list agents.
   */
  async *agents(filter: AgentsFilter = {}): AsyncGenerator<ListedAgent> {
    checkSchema(filterSchema, filter, "filter of agents()");
    if (this.#log.capabilities.listing === undefined) throw new StorageNotListableError();
    const { explain = false, ...options } = filter;
    for await (const summary of listLogs(this.#log, withoutUndefined({ ...options, readOnly: true as const }))) {
      if (summary.status === keyStatus) continue;
      const agent = listedAgent(summary);
      yield explain && agent.status === "in_progress" ? this.#explained(agent) : agent;
    }
  }

  async #explained(listed: ListedAgent): Promise<ListedAgent> {
    const owner = await ownerView(this.#log, listed.agentId);
    if (owner?.state === "alive") return { ...listed, ...(await readProgress(this.#log, listed)) };
    const agent = await this.agent(listed.agentId);
    return agent?.status === "in_progress" ? withStuck(listed, agent) : listed;
  }

  /**
   * Returns the view of an agent without its steps. `undefined` for an unknown agent.
   *
   * @throws InvalidAgentIdError if the id is invalid.
   */
  async agent(agentId: string): Promise<AgentView | undefined> {
    const source = await this.#open(agentId);
    const { end, damage, shape } = source.index;
    const isThere = end.position > 0 || damage.length > 0 || shape !== "agent";
    return isThere ? withValues(source, agentView) : undefined;
  }

  /**
   * Returns a page of an agent's checkpoints, oldest first. Each checkpoint names its parent, so they form a tree.
   *
   * @param page - `before` and `after` are versions. Defaults to the last 100 checkpoints.
   * @throws InvalidAgentIdError if the id is invalid.
   * @throws InvalidInputError if the page is invalid.
   */
  async checkpoints(agentId: string, page: PageOptions = {}): Promise<CheckpointsPage> {
    checkSchema(pageSchema, page, "page of checkpoints()");
    const { index } = await this.#open(agentId);
    return checkpoints(index, page);
  }

  /**
   * Returns a page of an agent's steps for a timeline, oldest first. Unfinished steps come last. When they finish, they
   * move to another position.
   *
   * @param page - `before` and `after` are `order`s of steps. Defaults to the last 100 steps.
   * @throws InvalidAgentIdError if the id is invalid.
   * @throws InvalidInputError if the page is invalid.
   */
  async steps(agentId: string, page: PageOptions = {}): Promise<StepsPage> {
    checkSchema(pageSchema, page, "page of steps()");
    return steps(await this.#open(agentId), page);
  }

  /**
   * Returns the content of a checkpoint.
   *
   * @param checkpointId - the id or name of the checkpoint.
   * @param options - the part of the history. Defaults to the last 200 messages.
   * @throws InvalidAgentIdError if the agent id is invalid.
   * @throws InvalidInputError if another argument is invalid.
   * @throws CheckpointNotFoundError if the agent has no such checkpoint.
   */
  async checkpoint(agentId: string, checkpointId: string, options: ContentOptions = {}): Promise<CheckpointContent> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    checkSchema(contentSchema, options, "options of checkpoint()");
    const source = await this.#open(agentId);
    const point = pointIn(source, checkpointId);
    return withValues(source, (shown) => checkpointContent(shown, point, options));
  }

  /**
   * Returns the difference between any two checkpoints of an agent.
   *
   * @param fromId - the id or name of the first checkpoint.
   * @param toId - the id or name of the second checkpoint.
   * @throws InvalidAgentIdError if the agent id is invalid.
   * @throws InvalidInputError if another argument is invalid.
   * @throws CheckpointNotFoundError if the agent has no such checkpoint.
   */
  async diff(agentId: string, fromId: string, toId: string): Promise<CheckpointDifference> {
    checkSchema(nonEmptyString, fromId, "checkpoint id");
    checkSchema(nonEmptyString, toId, "checkpoint id");
    const source = await this.#open(agentId);
    const from = pointIn(source, fromId);
    const to = pointIn(source, toId);
    return withValues(source, (shown) => checkpointDifference(shown, from, to));
  }

  /**
   * Returns the file changes that an agent recorded, oldest first.
   *
   * @param checkpointId - selects the changes before this checkpoint. Defaults to all changes, even those on abandoned
   *   branches.
   * @throws InvalidAgentIdError if the agent id is invalid.
   * @throws InvalidInputError if the checkpoint id is invalid.
   * @throws CheckpointNotFoundError if the agent has no such checkpoint.
   */
  async files(agentId: string, checkpointId?: string): Promise<readonly NotedFileChange[]> {
    checkSchema(nonEmptyString.optional(), checkpointId, "checkpoint id");
    const source = await this.#open(agentId);
    const point = checkpointId === undefined ? undefined : pointIn(source, checkpointId);
    return withValues(source, (shown) => notedFiles(shown, point));
  }

  /**
   * Returns the content of a file by the hash in a file change. `undefined` if the log does not contain it.
   *
   * @throws InvalidAgentIdError if the agent id is invalid.
   * @throws InvalidInputError if the hash is invalid.
   * @throws CorruptBlobError if the stored content is damaged.
   */
  async fileContent(agentId: string, hash: string): Promise<Uint8Array | undefined> {
    checkSchema(nonEmptyString, hash, "hash of a file");
    assertAgentId(agentId);
    const { log: index } = await this.#opened(agentId);
    const sha256 = await platformSha256();
    const read = this.#contents.get(index) ?? contentReader({ blobs: this.#log.blobs, agentId, index, sha256 });
    this.#contents.set(index, read);
    return read(hash);
  }

  /**
   * Predicts the effects of a rollback from outside a run. Whether a tool has an inverse is read from the log, not from
   * code.
   *
   * @throws InvalidAgentIdError if the agent id is invalid.
   * @throws InvalidInputError if the checkpoint id is invalid.
   * @throws CheckpointNotFoundError if the agent has no such checkpoint.
   * @throws NotAnAncestorError if the agent cannot be rolled back to the checkpoint.
   */
  async previewRollback(agentId: string, checkpointId: string): Promise<RollbackPreview> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    const source = await this.#open(agentId);
    const goal = foundIn(source, (log) => findRollbackGoal(log, checkpointId));
    return withValues(source, (shown) => rollbackPreview(shown, goal));
  }

  /**
   * Yields the stored appends of a log of any kind, oldest first.
   *
   * @throws InvalidAgentIdError if the id is invalid.
   * @throws InvalidInputError if the options are invalid.
   * @throws CorruptLogError in place of a damaged append.
   */
  async *records(agentId: string, { limit = Infinity, ...options }: RecordsOptions = {}): AsyncGenerator<EntryView> {
    assertAgentId(agentId);
    checkSchema(recordsSchema, { limit, ...options }, "options of records()");
    let left = limit;
    for await (const entry of left > 0 ? this.#log.read(agentId, withoutUndefined(options)) : []) {
      yield entryView(entry);
      if (--left <= 0) return;
    }
  }

  /** Yields the stored appends of a log, and then new appends until the signal aborts. Throws like {@link records}. */
  async *follow(agentId: string, options: FollowOptions = {}): AsyncGenerator<EntryView> {
    assertAgentId(agentId);
    checkSchema(followSchema, options, "options of follow()");
    const { everyMs = defaultPollMs, signal } = options;
    let { after = 0 } = options;
    while (!signal?.aborted) {
      for await (const entry of this.#log.read(agentId, { after })) {
        if (signal?.aborted) return;
        after = entry.position;
        yield entryView(entry);
      }
      await pause(this.#clock, everyMs, signal);
    }
  }

  async #open(agentId: string): Promise<Source> {
    assertAgentId(agentId);
    const index = await this.#opened(agentId);
    const owner = await ownerView(this.#log, agentId);
    return { log: this.#log, index, owner, maxValueLength: this.#maxValueLength };
  }
}

function pointIn(source: Source, checkpointId: string): CheckpointPoint {
  return foundIn(source, (log) => findCheckpoint(log, checkpointId));
}

/** @throws the error of a damaged log, in which the checkpoint may be after the damage */
function foundIn<Found>({ index }: Source, find: (log: Parameters<typeof findCheckpoint>[0]) => Found): Found {
  try {
    return find({ agentId: index.agentId, index: index.log });
  } catch (error) {
    const [damage] = index.errors;
    throw AgentPersistenceError.isInstance(damage) ? damage : error;
  }
}

/**
 * Creates an inspector for a storage. The caller must close the storage.
 *
 * @throws InvalidInputError if an argument is invalid.
 *
 * @example
 * ```ts
 * const storage = new FilePersistenceStorageProvider({ directory: "./agents" });
 * const inspector = inspect(storage);
 * for await (const { agentId, status } of inspector.agents({ status: "failed" })) {
 *   const steps = await inspector.steps(agentId);
 *   console.log(agentId, status, steps.steps.length);
 * }
 * ```
 */
export function inspect(storage: PersistenceStorageProvider, options: InspectOptions = {}): AgentInspector {
  return new AgentInspector(storage, options);
}

function entryView({ position, generation, id, checksum, prev, records }: Entry): EntryView {
  return { position, generation, id, checksum, prev, records: records as EntryView["records"] };
}
