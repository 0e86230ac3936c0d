import { z } from "zod";
import type { Node } from "../agent/strategy/Strategy.ts";
import type { PendingRequest } from "../agent/feature/RunResult.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { foldTo } from "../checkpoint/state/AgentState.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import { encodeValue } from "../checkpoint/values/valueCodec.ts";
import { checkSchema, checkSchemaAsync } from "../internal/options/checkSchema.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { numberFrom, nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { Journal } from "../journal/Journal.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import { answerRequests } from "./waiting/answerRequests.ts";
import { assertStorableHistory, executionPointSchema } from "./move/setExecutionPoint.ts";
import type { CheckpointValidation } from "./read/CheckpointValidation.ts";
import { callsInDoubt, inverseInDoubt, inversesInDoubt, toolCallInDoubt } from "./doubt/callsInDoubt.ts";
import { cancelRun } from "./run/cancelRun.ts";
import { findCheckpoint, findRollbackTarget } from "./move/findCheckpoint.ts";
import { finishRollback, rollBack } from "./rollback/rollBack.ts";
import { continueFromHead } from "./move/continueFromHead.ts";
import { historyOnlyReport, isHistoryOnly, messagesAt, type RollbackOptions } from "./rollback/historyOnly.ts";
import { openWithRetry } from "../journal/openWithRetry.ts";
import { pendingInputs } from "./waiting/pendingInputs.ts";
import type { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RollbackReport } from "./rollback/RollbackReport.ts";
import { restart, restartSchema, type RestartOptions } from "./rollback/restart.ts";
import { resolveManually } from "./doubt/resolveManually.ts";
import { checkSettlement, type ToolCallInDoubt, type ToolCallSettlement } from "./doubt/ToolCallInDoubt.ts";
import { validateCheckpoint } from "./read/validateCheckpoint.ts";

const defaultAnswerTimeoutMs = 5_000;
/** Twice the lease of the file storage: its owner learns of a stop with its next renewal. */
const defaultCancelTimeoutMs = 30_000;

const timeoutSchema = strictOptions({ timeoutMs: numberFrom(0).optional() });
const messagesSchema = strictOptions({ original: z.boolean().optional() });

/**
 * One durable agent, from outside a run. Each verb that changes something owns the agent while it lasts and is refused
 * with `AgentBusyError` while the agent runs. What a move leaves is `paused`, to be resumed by whoever asked for it.
 */
export class DurableAgent {
  readonly agentId: string;
  readonly #setup: PersistenceSetup;

  constructor(agentId: string, setup: PersistenceSetup) {
    this.agentId = agentId;
    this.#setup = setup;
  }

  /**
   * Takes back what was done since a checkpoint; the next run or resume goes on from it. One that stopped before goes on.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError, ToolCallInDoubtError, AgentBusyError; nothing
   * has changed then.
   * @throws RollbackIncompleteError when a call cannot be taken back; the rollback stays open.
   */
  async rollbackToCheckpoint(
    checkpointId: string,
    options?: Omit<RollbackOptions, "agentContext">,
  ): Promise<RollbackReport> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    return this.#rollBack(checkpointId, options);
  }

  /** {@link rollbackToCheckpoint} to the newest one: takes back what was done after it. */
  async rollbackToLatestCheckpoint(options?: Omit<RollbackOptions, "agentContext">): Promise<RollbackReport> {
    return this.#rollBack(undefined, options);
  }

  /**
   * Begins a failed task again: rolls it back to the first checkpoint of its run, with files and effects, and queues it in
   * the same append. A restart that a crash cut short goes on when it is asked for again.
   *
   * @returns `undefined` when it failed before its first checkpoint, so that there was nothing to take back.
   * @throws TaskNotFoundError, TransitionNotAllowedError when it is not failed, or not recoverable; ToolCallInDoubtError,
   * AgentBusyError; nothing has changed then.
   * @throws RollbackIncompleteError when a call cannot be taken back; the task stays failed, and the rollback open.
   */
  async restart(options: RestartOptions = {}): Promise<RollbackReport | undefined> {
    checkSchema(restartSchema, options, "options of a restart");
    return restart(this.#setup, this.agentId, options);
  }

  /**
   * Makes another node the one that runs next. No inverse is run, but for those of a rollback that a crash cut short, which
   * is finished first.
   *
   * @throws UnknownNodeError, InvalidInputError, CheckpointNotFoundError, AgentBusyError; nothing has changed then.
   * @throws RollbackIncompleteError when that rollback could not take back every call.
   */
  async setExecutionPoint(options: {
    readonly nodeId: string | Node;
    readonly input: unknown;
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<void> {
    checkSchema(executionPointSchema, options, "execution point");
    const { graph } = this.#setup;
    const node = graph.resolve(options.nodeId);
    const { input } = options;
    await checkSchemaAsync(graph.leaf(node).input, input, `input of node "${node}"`);
    encodeValue(input, `the input of node "${node}"`);
    assertStorableHistory(options.messageHistory);
    await using journal = await this.#setup.openJournal(this.agentId);
    const log = await finishRollback(this.#setup, journal);
    await continueFromHead(journal, log, {
      to: { node, input },
      messages: options.messageHistory,
      move: "execution_point",
      pauseReason: `execution point set to node ${node}`,
    });
  }

  /** Oldest first. */
  async getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    return this.#setup.storage.getCheckpoints(this.agentId, filter);
  }

  /**
   * The messages at the latest checkpoint, oldest first; none for an agent never seen.
   *
   * @param options.original as they were before anything was trimmed, as far as the log still has them. Default false.
   */
  async getMessages(options: { readonly original?: boolean | undefined } = {}): Promise<readonly Message[]> {
    checkSchema(messagesSchema, options, "options of getMessages()");
    const log = await AgentLog.read(this.#setup.log, this.agentId);
    const state = log.index.latest && foldTo(log.index, log.index.latest, { originals: options.original ?? false });
    if (!state) return [];
    const reader = log.reader(state);
    return state.history.map(({ message }) => reader.message(message));
  }

  /** `undefined` when there is none. */
  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    return this.#setup.storage.getLatestCheckpoint(this.agentId);
  }

  /** The name of the task that the agent is; `undefined`: it is none. */
  async getTaskName(): Promise<string | undefined> {
    const { log } = await AgentLog.readHead(this.#setup.log, this.agentId);
    return log.index.statusState.task?.name;
  }

  /**
   * Looks at a stored checkpoint as an agent that goes on from it would, and says what is wrong with it. Damage is
   * reported, not thrown; a storage that fails is thrown. Where the newest checkpoint is asked for and cannot be read, an
   * older one is never looked at in its place.
   *
   * @param checkpointId default: the newest.
   */
  async validateCheckpoint(checkpointId?: string): Promise<CheckpointValidation> {
    checkSchema(nonEmptyString.optional(), checkpointId, "checkpoint id");
    return validateCheckpoint(this.#setup, this.agentId, checkpointId);
  }

  /**
   * The calls that began and whose end nobody knows, of every line, in the order in which they began; then the inverses,
   * in the order of their calls. While the agent runs the calls in flight are among them.
   */
  async getToolCallsInDoubt(): Promise<readonly ToolCallInDoubt[]> {
    const log = await AgentLog.read(this.#setup.log, this.agentId);
    const journal = { agentId: this.agentId, sha256: await this.#setup.storage.sha256() };
    return [
      ...callsInDoubt(log).map((call) => toolCallInDoubt(this.agentId, call)),
      ...inversesInDoubt(log).map((call) => inverseInDoubt(call, this.#setup.registry.inverseOf(call.tool), journal)),
    ];
  }

  /**
   * Says what became of a call in doubt; the next run or resume goes on with it. A call that was settled with `"retry"` or
   * `"unknown"` may be settled again.
   *
   * An inverse is settled by its own id, also when it is not in doubt but stops a rollback: `{ output }` says that its call
   * is taken back, `{ error }` and `"unknown"` that the call is left as it is, `"retry"` that the inverse is to run again.
   *
   * @throws ToolCallNotInDoubtError, InvalidInputError, NotSerializableError, AgentBusyError; nothing has changed then.
   */
  async settleToolCall(toolCallId: string, settlement: ToolCallSettlement): Promise<void> {
    const checked = checkSettlement(settlement, toolCallId);
    await using journal = await this.#setup.openJournal(this.agentId);
    await resolveManually(journal, toolCallId, checked);
  }

  /** What the agent waits for; nothing unless it waits. Reads only, also while the agent runs. */
  async getRequests(): Promise<readonly PendingRequest[]> {
    const { log, state } = await AgentLog.readHead(this.#setup.log, this.agentId);
    return state ? pendingInputs({ log, state }) : [];
  }

  /**
   * Answers a request; durable when it resolves. Nothing runs: whoever resumes the agent next goes on with it. The answer
   * is judged by the schema of the request, and the first one that is taken counts, whoever else tries.
   *
   * @param options `timeoutMs`: how long to wait for an agent that somebody owns, in milliseconds; default 5,000.
   * @throws RequestNotOpenError, InvalidInputError, NotSerializableError, AgentBusyError; nothing has changed then.
   */
  async answer(
    requestId: string,
    answer: unknown,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<void> {
    checkSchema(timeoutSchema, options, "options of answer()");
    const { timeoutMs = defaultAnswerTimeoutMs } = options;
    await using journal = await openWithRetry(this.#setup, this.agentId, timeoutMs);
    const { head } = journal;
    const stored = head?.state && { log: head.log, state: head.state };
    await answerRequests(this.#setup, journal, stored, { [requestId]: answer });
  }

  /**
   * Ends a run that has not ended, as cancelled; its effects stand and stay revertible. A process that runs it is asked to
   * stop first: its run rejects with StopRequestedError.
   *
   * @param options `timeoutMs`: how long to wait for that process, in milliseconds; default 30,000.
   * @throws RunNotOpenError when the last run has ended, or there is none.
   * @throws AgentBusyError when the process that runs it has not stopped in time; it may still do so, and is not cancelled.
   */
  async cancel(reason?: string, options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    checkSchema(z.string().optional(), reason, "reason of cancel()");
    checkSchema(timeoutSchema, options, "options of cancel()");
    await cancelRun(this.#setup, this.agentId, reason, options.timeoutMs ?? defaultCancelTimeoutMs);
  }

  async #rollBack(checkpointId: string | undefined, options: RollbackOptions = {}): Promise<RollbackReport> {
    const historyOnly = isHistoryOnly(options);
    await using journal = await this.#setup.openJournal(this.agentId);
    if (historyOnly) return await this.#restoreMessages(journal, checkpointId);
    const log = await journal.readAll();
    const target = findRollbackTarget(this.agentId, log.index, checkpointId);
    const { report } = await rollBack({
      setup: this.#setup,
      journal,
      log,
      target,
      signal: journal.lost,
      leaves: { status: "paused", reason: `rolled back to checkpoint ${target.id}` },
    });
    return report;
  }

  async #restoreMessages(journal: Journal, checkpointId: string | undefined): Promise<RollbackReport> {
    findCheckpoint(this.agentId, (await journal.readAll()).index, checkpointId);
    const log = await finishRollback(this.#setup, journal);
    const target = findCheckpoint(this.agentId, log.index, checkpointId);
    await continueFromHead(journal, log, {
      messages: messagesAt(log, target),
      move: "rollback",
      pauseReason: "messages rolled back",
    });
    return historyOnlyReport(log, target);
  }
}
