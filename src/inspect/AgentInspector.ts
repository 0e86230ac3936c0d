import { z } from "zod";
import type { CheckpointPoint } from "../checkpoint/state/CheckpointPoint.ts";
import { platformSha256 } from "../internal/sha256/platformSha256.ts";
import { findCheckpoint, findRollbackGoal } from "../journal/findCheckpoint.ts";
import { PackedContents } from "../journal/PackedContents.ts";
import { checkpointContent, type ContentOptions } from "./show/checkpointContent.ts";
import { checkpointDifference } from "./show/checkpointDifference.ts";
import { notedFiles } from "./show/fileChanges.ts";
import { rollbackPreview } from "./show/rollbackPreview.ts";
import type { CheckpointContent, CheckpointDifference } from "./view/CheckpointContent.ts";
import type { NotedFileChange } from "./view/FileChangeView.ts";
import type { RollbackPreview } from "./view/RollbackPreview.ts";
import { StorageNotListableError } from "../errors/storage/StorageNotListableError.ts";
import { type Clock, systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  clockSchema,
  integerFrom,
  nonEmptyString,
  numberFrom,
} from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { logStorageOf } from "../storage/checkpoints/CheckpointStorage.ts";
import { listLogs } from "../storage/listSummaries.ts";
import { type PersistenceStorageProvider, providerSchema } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { OpenedLogs } from "./log/OpenedLogs.ts";
import { agentView } from "./show/agentView.ts";
import { checkpoints } from "./show/checkpoints.ts";
import { entryView } from "./log/entryView.ts";
import { followRecords } from "./log/followRecords.ts";
import { agentStatuses, listedAgent, withStuck } from "./show/listedAgent.ts";
import { ownerView } from "./log/ownerView.ts";
import type { PageOptions } from "./place/pageOf.ts";
import { type Source, withValues } from "./show/Source.ts";
import { steps } from "./show/steps.ts";
import type { AgentStatus, AgentView, ListedAgent } from "./view/AgentView.ts";
import type { CheckpointsPage } from "./view/CheckpointView.ts";
import type { EntryView } from "./view/EntryView.ts";
import type { StepsPage } from "./view/StepView.ts";

/** How an inspector shows what it reads. */
export interface InspectOptions {
  /**
   * How many characters and items of one value are shown, about; the rest is cut, and the value says so. Default 100,000.
   * `Infinity`: all of them.
   */
  readonly maxValueLength?: number | undefined;
  /** Times the polls of `follow`. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Which agents to list. */
export interface AgentsFilter {
  /** Only agents in this status, or in one of these. Default: all. */
  readonly status?: AgentStatus | readonly AgentStatus[] | undefined;
  /** Only agents behind this `cursor`. Default: from the first. */
  readonly after?: string | undefined;
  /** The most agents to list. Default: all. */
  readonly limit?: number | undefined;
  /**
   * Whether to say why agents in progress make no progress. Looks up the owner of each, and reads the log of those that no
   * process runs. Default: false.
   */
  readonly explain?: boolean | undefined;
}

/** Which appends to read. */
export interface RecordsOptions {
  /** Only those at a higher position. Default 0. */
  readonly after?: number | undefined;
  /** Only those up to this position, inclusive. Default: to the end. */
  readonly upTo?: number | undefined;
  /** The most to read. Default: all. */
  readonly limit?: number | undefined;
}

/** How to follow a log. */
export interface FollowOptions {
  /** Only appends at a higher position. Default 0: all that are there come first. */
  readonly after?: number | undefined;
  /** Ends the following. Default: it goes on until the caller stops to iterate. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait between two looks, in milliseconds. Default 500. */
  readonly everyMs?: number | undefined;
}

const defaultMaxValueLength = 100_000;
const defaultPollMs = 500;

const optionsSchema = strictOptions({ maxValueLength: integerFrom(0).optional(), clock: clockSchema.optional() });
const agentStatusSchema = z.enum(agentStatuses);
const filterSchema = strictOptions({
  status: z
    .union([agentStatusSchema, z.array(agentStatusSchema)], {
      error: `expected one or several of ${agentStatuses.map((status) => JSON.stringify(status)).join(", ")}`,
    })
    .optional(),
  after: nonEmptyString.optional(),
  limit: integerFrom(0).optional(),
  explain: z.boolean().optional(),
});
const pageSchema = strictOptions({
  before: z.number().optional(),
  after: z.number().optional(),
  limit: integerFrom(1).optional(),
});
const recordsSchema = strictOptions({
  after: integerFrom(0).optional(),
  upTo: integerFrom(0).optional(),
  limit: integerFrom(0).optional(),
});
const contentSchema = strictOptions({
  messagesLimit: integerFrom(0).optional(),
  messagesBefore: integerFrom(0).optional(),
});
const followSchema = strictOptions({
  after: integerFrom(0).optional(),
  signal: abortSignalSchema.optional(),
  everyMs: numberFrom(1).optional(),
});

/**
 * Shows what a storage holds, without the code of its agents. It owns and writes nothing, and works while agents run. All that
 * it gives is plain JSON; what comes from a log is not to be trusted.
 *
 * An unknown agent has nothing to show: no pages, and `undefined` as its view. Damage hides only what comes after it: the views
 * say what is damaged, and show what comes before.
 */
export class AgentInspector {
  readonly #log: RecordLog;
  readonly #opened: OpenedLogs;
  readonly #maxValueLength: number;
  readonly #clock: Clock;

  /** @throws InvalidInputError */
  constructor(storage: PersistenceStorageProvider, options: InspectOptions = {}) {
    checkSchema(providerSchema, storage, "storage of inspect()");
    checkSchema(optionsSchema, options, "options of inspect()");
    this.#log = logStorageOf(storage).log;
    this.#opened = new OpenedLogs(this.#log);
    this.#maxValueLength = options.maxValueLength ?? defaultMaxValueLength;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * The agents of the storage, those with a higher priority first, then the older ones. Agents that cannot be read are listed as
   * `unreadable`. Logs of other shapes come last, with their shape.
   *
   * @throws InvalidInputError; StorageNotListableError for a storage that cannot tell which agents it has.
   */
  async *agents(filter: AgentsFilter = {}): AsyncGenerator<ListedAgent> {
    checkSchema(filterSchema, filter, "filter of agents()");
    if (this.#log.capabilities.listing === undefined) throw new StorageNotListableError();
    const { explain = false, ...options } = filter;
    for await (const summary of listLogs(this.#log, withoutUndefined({ ...options, readOnly: true as const }))) {
      const agent = listedAgent(summary);
      yield explain && agent.status === "in_progress" ? this.#explained(agent) : agent;
    }
  }

  async #explained(listed: ListedAgent): Promise<ListedAgent> {
    const owner = await ownerView(this.#log, listed.agentId);
    if (owner?.state === "alive") return listed;
    const agent = await this.agent(listed.agentId);
    return agent?.status === "in_progress" ? withStuck(listed, agent) : listed;
  }

  /** All about one agent that is not a matter of one step; `undefined` for an unknown one. @throws InvalidAgentIdError */
  async agent(agentId: string): Promise<AgentView | undefined> {
    const source = await this.#open(agentId);
    const { end, damage, shape } = source.index;
    const isThere = end.position > 0 || damage.length > 0 || shape !== "agent";
    return isThere ? withValues(source, agentView) : undefined;
  }

  /**
   * The checkpoints of an agent, oldest first; each names its parent, so that they are a tree.
   *
   * @param page by default the last 100. `before` and `after` are versions.
   * @throws InvalidAgentIdError, InvalidInputError
   */
  async checkpoints(agentId: string, page: PageOptions = {}): Promise<CheckpointsPage> {
    checkSchema(pageSchema, page, "page of checkpoints()");
    const { index } = await this.#open(agentId);
    return checkpoints(index, page);
  }

  /**
   * What happened to an agent, oldest first, as a timeline shows it. What is not over yet comes last, and comes again when it
   * is over.
   *
   * @param page by default the last 100. `before` and `after` are `order`s of steps.
   * @throws InvalidAgentIdError, InvalidInputError
   */
  async steps(agentId: string, page: PageOptions = {}): Promise<StepsPage> {
    checkSchema(pageSchema, page, "page of steps()");
    return steps(await this.#open(agentId), page);
  }

  /**
   * What a checkpoint holds.
   *
   * @param checkpointId its id or its name.
   * @param options which part of the history. Default: its last 200 messages.
   * @throws InvalidAgentIdError, InvalidInputError, CheckpointNotFoundError
   */
  async checkpoint(agentId: string, checkpointId: string, options: ContentOptions = {}): Promise<CheckpointContent> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    checkSchema(contentSchema, options, "options of checkpoint()");
    const source = await this.#open(agentId);
    const point = pointIn(source, checkpointId);
    return withValues(source, (shown) => checkpointContent(shown, point, options));
  }

  /**
   * What differs between two checkpoints of an agent, on whatever lines they are.
   *
   * @param fromId id or name of the one. @param toId id or name of the other.
   * @throws InvalidAgentIdError, InvalidInputError, CheckpointNotFoundError
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
   * The changes of files that an agent noted, oldest first.
   *
   * @param checkpointId only those that lead to this checkpoint. Default: all, those on lines that were left included.
   * @throws InvalidAgentIdError, InvalidInputError, CheckpointNotFoundError
   */
  async files(agentId: string, checkpointId?: string): Promise<readonly NotedFileChange[]> {
    checkSchema(nonEmptyString.optional(), checkpointId, "checkpoint id");
    const source = await this.#open(agentId);
    const point = checkpointId === undefined ? undefined : pointIn(source, checkpointId);
    return withValues(source, (shown) => notedFiles(shown, point));
  }

  /**
   * The content of a file by its hash, as changes of files name it; `undefined` when the log does not have it.
   *
   * @throws InvalidAgentIdError, InvalidInputError, CorruptBlobError
   */
  async fileContent(agentId: string, hash: string): Promise<Uint8Array | undefined> {
    checkSchema(nonEmptyString, hash, "hash of a file");
    const { index, log } = await this.#open(agentId);
    const sha256 = await platformSha256();
    return new PackedContents({ blobs: log.blobs, agentId, index: index.log, sha256 }).read(hash);
  }

  /**
   * What a rollback from outside a run to a checkpoint would do, as far as the log tells. Whether a tool has an inverse was
   * recorded with each of its calls.
   *
   * @throws InvalidAgentIdError, InvalidInputError, CheckpointNotFoundError; NotAnAncestorError for a checkpoint that the agent
   * cannot be rolled back to.
   */
  async previewRollback(agentId: string, checkpointId: string): Promise<RollbackPreview> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    const source = await this.#open(agentId);
    const goal = findRollbackGoal({ agentId, index: source.index.log }, checkpointId);
    return withValues(source, (shown) => rollbackPreview(shown, goal));
  }

  /**
   * The appends of a log as they are stored, oldest first. Works on logs of every shape.
   *
   * @throws InvalidAgentIdError, InvalidInputError; CorruptLogError in place of an append that is damaged.
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

  /**
   * The appends of a log, and then those that come, until the signal aborts.
   *
   * @throws as for {@link records}.
   */
  async *follow(agentId: string, options: FollowOptions = {}): AsyncGenerator<EntryView> {
    assertAgentId(agentId);
    checkSchema(followSchema, options, "options of follow()");
    const { after = 0, everyMs = defaultPollMs, signal } = options;
    const following = { clock: this.#clock, after, everyMs, signal };
    for await (const entry of followRecords(this.#log, agentId, following)) yield entryView(entry);
  }

  async #open(agentId: string): Promise<Source> {
    assertAgentId(agentId);
    const index = await this.#opened.open(agentId);
    const owner = await ownerView(this.#log, agentId);
    return { log: this.#log, index, owner, maxValueLength: this.#maxValueLength };
  }
}

/** @throws CheckpointNotFoundError */
function pointIn({ index }: Source, checkpointId: string): CheckpointPoint {
  return findCheckpoint({ agentId: index.agentId, index: index.log }, checkpointId);
}

/**
 * Looks into a storage. Closing the storage stays with the caller.
 *
 * @throws InvalidInputError
 */
export function inspect(storage: PersistenceStorageProvider, options: InspectOptions = {}): AgentInspector {
  return new AgentInspector(storage, options);
}
