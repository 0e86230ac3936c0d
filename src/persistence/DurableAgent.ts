import { z } from "zod";
import type { Node } from "../agent/strategy/Strategy.ts";
import type { PendingRequest } from "../agent/feature/RunResult.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkpointTree, type CheckpointTreeNode } from "../checkpoint/data/checkpointTree.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { numberFrom, nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { Journal } from "../journal/Journal.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { readHead } from "../storage/readHead.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import { CheckpointNotFoundError } from "../errors/checkpoint/CheckpointNotFoundError.ts";
import { notedValues } from "../journal/notesAround.ts";
import { newNoteSchema, noteRecord, type NewNote } from "./record/noteRecord.ts";
import { answerRequests, type GivenReply } from "./waiting/answerRequests.ts";
import { executionPointOf, executionPointSchema } from "./move/setExecutionPoint.ts";
import type { CheckpointValidation } from "../environment/CheckpointValidation.ts";
import { callsInDoubt, inverseInDoubt, inversesInDoubt, toolCallInDoubt } from "./doubt/callsInDoubt.ts";
import { cancelRun } from "./run/cancelRun.ts";
import { findCheckpoint, findRollbackGoal, messagesOf } from "../journal/findCheckpoint.ts";
import { finishedReport } from "./rollback/finishedRollback.ts";
import { finishOtherRedo, finishRollback, pausedAt, rollBack } from "./rollback/rollBack.ts";
import { forkAgent } from "./move/forkAgent.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { continueFromHead } from "./move/continueFromHead.ts";
import { nameCheckpoint, removeCheckpointName } from "./move/nameCheckpoint.ts";
import { editCheckpoint } from "./edit/editCheckpoint.ts";
import { type EditedCheckpoint, type EditOptions, editSchema } from "./edit/EditOptions.ts";
import { historyOnly, isHistoryOnly, type RollbackOptions } from "./rollback/historyOnly.ts";
import { openUnless } from "../journal/openWithRetry.ts";
import { inAnswerTurn } from "./waiting/inAnswerTurn.ts";
import { LiveRequests } from "./waiting/LiveRequests.ts";
import { pendingRequests } from "./waiting/pendingRequests.ts";
import type { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RollbackReport } from "./rollback/RollbackReport.ts";
import { restart, restartSchema, type RestartOptions } from "./rollback/restart.ts";
import { resolveManually } from "./doubt/resolveManually.ts";
import { checkSettlement, type ToolCallInDoubt, type ToolCallSettlement } from "../doubt/ToolCallInDoubt.ts";
import { validateCheckpoint } from "./read/validateCheckpoint.ts";

const defaultAnswerTimeoutMs = 5_000;
/** Twice the lease of the file storage: the owner sees a stop request when it renews its lease. */
const defaultCancelTimeoutMs = 30_000;

const timeoutSchema = strictOptions({ timeoutMs: numberFrom(0).optional() });
const rejectShape = { by: nonEmptyString.optional(), timeoutMs: numberFrom(0).optional() };
const rejectSchema = strictOptions(rejectShape);
const answerSchema = strictOptions({ ...rejectShape, digest: nonEmptyString.optional() });
const forkSchema = strictOptions({ checkpointId: nonEmptyString.optional() });
const messagesSchema = strictOptions({ original: z.boolean().optional() });

/** How to answer a request. */
export interface AnswerOptions {
  /** Who answers, as you know it. Kept with the answer, and never trusted. Absent: nobody says. */
  readonly by?: string | undefined;
  /** The digest of the tool call that was shown. If another call waits, the answer is refused. Absent: it is not compared. */
  readonly digest?: string | undefined;
  /** How long to wait for the owner of the agent, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
}

type OutsideOptions = Omit<RollbackOptions, "agentContext">;

/**
 * One durable agent, from outside a run. Each method that changes something owns the agent until it resolves, and rejects
 * with `AgentBusyError` while the agent runs. After a move the agent is `paused` until you resume it.
 */
export class DurableAgent {
  readonly #setup: PersistenceSetup;

  constructor(
    readonly agentId: string,
    setup: PersistenceSetup,
  ) {
    this.#setup = setup;
  }

  /**
   * Reverts the calls since a checkpoint; the next run or resume continues from it. An interrupted rollback is continued.
   *
   * The checkpoint may be on a branch that an earlier rollback or another move left: a redo. Then the calls since the common ancestor are
   * reverted, and messages, state and files are those of the checkpoint again. Calls on the way there that were reverted stay reverted;
   * the report lists them as `stayedReverted`.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError, ToolCallInDoubtError, AgentBusyError; nothing
   * has changed then.
   * @throws RollbackIncompleteError when a call cannot be reverted; the rollback stays open.
   */
  async rollbackToCheckpoint(checkpointId: string, options?: OutsideOptions): Promise<RollbackReport> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    return this.#rollBack(checkpointId, options);
  }

  /** Like {@link rollbackToCheckpoint}, to the latest checkpoint. */
  async rollbackToLatestCheckpoint(options?: OutsideOptions): Promise<RollbackReport> {
    return this.#rollBack(undefined, options);
  }

  /**
   * Restarts a failed task: rolls it back to the first checkpoint of its run, with files and effects, and queues it in the
   * same append. If a crash interrupts the restart, call it again to continue.
   *
   * @returns `undefined` if the task failed before its first checkpoint: there was nothing to revert.
   * @throws TaskNotFoundError, TransitionNotAllowedError when it is not failed, or not recoverable; ToolCallInDoubtError,
   * AgentBusyError; nothing has changed then.
   * @throws RollbackIncompleteError when a call cannot be reverted; the task stays failed, and the rollback open.
   */
  async restart(options: RestartOptions = {}): Promise<RollbackReport | undefined> {
    checkSchema(restartSchema, options, "options of a restart");
    return restart(this.#setup, this.agentId, options);
  }

  /**
   * Sets the node that runs next. No inverse runs, except that an interrupted rollback is finished first.
   *
   * @throws UnknownNodeError, InvalidInputError, CheckpointNotFoundError, AgentBusyError; nothing has changed then.
   * @throws RollbackIncompleteError when that rollback could not revert every call.
   */
  async setExecutionPoint(options: {
    readonly nodeId: string | Node;
    readonly input: unknown;
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<void> {
    checkSchema(executionPointSchema, options, "execution point");
    const point = await executionPointOf(this.#setup.graph, options);
    await using journal = await this.#setup.openJournal(this.agentId);
    const { log } = await finishRollback(this.#setup, journal);
    await continueFromHead(journal, log, {
      ...point,
      setup: this.#setup,
      move: "execution_point",
      pauseReason: `execution point set to node ${point.node}`,
    });
  }

  /**
   * Makes an independent agent of this one, under another id: it has the history up to there and goes on by itself. This agent
   * is neither owned nor changed, and may run meanwhile. Nothing refers to it: it may be deleted at once.
   *
   * The fork has every line and what they wait for, under request ids of its own. Without a checkpoint it also has what the
   * nodes did since their last checkpoints, and its status, except that it is `paused` if this agent is running. Tool calls
   * that are over are replayed, and never reverted by the fork. Calls that are not over are made by the fork anew, under ids
   * of its own. An open rollback counts as done.
   *
   * @param agentId of the new agent.
   * @param options `checkpointId`: the moment to fork at; the fork is `paused` then. Default: now, from what is durable.
   * @returns the new agent, durable. Resume it with `resume({ agentId })`.
   * @throws AlreadyExistsError (`agent_exists`), CheckpointNotFoundError when there is no such checkpoint, or nothing at all;
   * NotSupportedError for a storage without `lines` and `receive`, such as one of three methods; AgentBusyError while another
   * process makes an agent of that id; CorruptLogError, UnreadableValueError when the log of this agent is damaged. Nothing
   * has changed then.
   */
  async fork(agentId: string, options: { readonly checkpointId?: string | undefined } = {}): Promise<DurableAgent> {
    assertAgentId(agentId);
    checkSchema(forkSchema, options, "options of fork()");
    await forkAgent(this.#setup, this.agentId, agentId, options.checkpointId);
    return new DurableAgent(agentId, this.#setup);
  }

  /**
   * Begins a branch at the moment that a checkpoint names, with changes. Every line that was open then goes on from where it
   * stood; the line of the checkpoint gets the changes, and its node begins a new visit. Nothing is reverted and nothing runs:
   * the agent is `paused` until you resume it. An interrupted rollback is finished first.
   *
   * @param checkpointId its id or its name; on any line.
   * @throws CheckpointNotFoundError, UnknownNodeError, InvalidInputError, NotSerializableError, AgentBusyError, and what the
   * functions of the options throw; nothing has changed then. CheckpointTooLargeError, RollbackIncompleteError: no edit was
   * made, and an interrupted rollback may have gone on.
   */
  async editCheckpoint(checkpointId: string, options: EditOptions): Promise<EditedCheckpoint> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    checkSchema(editSchema, options, "edit");
    return editCheckpoint(this.#setup, this.agentId, checkpointId, options);
  }

  /**
   * Lets an agent run that was imported as a copy, though the original may run, too: their calls are made twice then. Any
   * other agent stays as it is.
   *
   * @throws CheckpointNotFoundError when there is no such agent, AgentMovedError, AgentBusyError. Nothing has changed then.
   */
  async takeOver(): Promise<void> {
    using head = await readHead(this.#setup.log, this.agentId);
    if (!head.state) throw new CheckpointNotFoundError(this.agentId, undefined, []);
    await using _journal = await this.#setup.openJournal(this.agentId, "take_over");
  }

  /** Oldest first. */
  async getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    return this.#setup.storage.getCheckpoints(this.agentId, filter);
  }

  /**
   * All checkpoints as a tree: each with those that follow it, on its line and on the branches, sub-agents and moves that begin
   * there. The checkpoints that the agent goes on from are marked. Reads only, also while the agent runs; no values are read.
   *
   * @returns the first checkpoint of the agent. Several, oldest first, where pruning has removed what was between them; none
   * for an unknown agent.
   */
  async checkpointTree(): Promise<readonly CheckpointTreeNode[]> {
    const { index } = await AgentLog.read(this.#setup.log, this.agentId, {}, () => false);
    return checkpointTree(index);
  }

  /**
   * The messages at the latest checkpoint, oldest first; none for an unknown agent.
   *
   * @param options.original the messages before trimming, as far as the log still has them. Default false.
   */
  async getMessages(options: { readonly original?: boolean | undefined } = {}): Promise<readonly Message[]> {
    checkSchema(messagesSchema, options, "options of getMessages()");
    const { original: originals = false } = options;
    using head = originals ? undefined : await readHead(this.#setup.log, this.agentId);
    if (head?.state?.checkpoint) return messagesOf(head.log, head.state);
    const log = await AgentLog.read(this.#setup.log, this.agentId);
    const state = log.index.latest && foldTo(log.index, log.index.latest, { originals });
    return state ? messagesOf(log, state) : [];
  }

  /** `undefined` when there is none. */
  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    return this.#setup.storage.getLatestCheckpoint(this.agentId);
  }

  /**
   * Names a checkpoint. The name stands for its id wherever one is taken, as in `rollbackToCheckpoint(name)`; retention keeps
   * the checkpoint. A name belongs to one checkpoint of the agent, and a checkpoint has one name: giving either again moves it.
   *
   * @param checkpointId its id or its name.
   * @param name 1 to 256 characters; not of the form `<number>-<number>`.
   * @throws InvalidInputError, CheckpointNotFoundError, AgentBusyError; AlreadyExistsError when a checkpoint was made with this
   * id; NotSupportedError on a storage of three methods. Nothing has changed then.
   */
  async nameCheckpoint(checkpointId: string, name: string): Promise<void> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    checkSchema(z.string(), name, "name of a checkpoint");
    await nameCheckpoint(this.#setup, this.agentId, { checkpointId, name });
  }

  /**
   * Removes a name that {@link nameCheckpoint} gave. The checkpoint stays until retention deletes it.
   *
   * @throws CheckpointNotFoundError when no checkpoint has the name: it lists those that are given. AgentBusyError.
   */
  async removeCheckpointName(name: string): Promise<void> {
    checkSchema(nonEmptyString, name, "name of a checkpoint");
    await removeCheckpointName(this.#setup, this.agentId, name);
  }

  /**
   * Stores a value in the agent's log, in its last run: for features that keep their own records. Nothing else changes, and
   * a rollback to an earlier checkpoint drops it. Durable when it resolves. A storage of three methods keeps no notes.
   *
   * @throws NotSerializableError, AgentBusyError, CheckpointNotFoundError when the agent has never run.
   */
  async note(note: Omit<NewNote, "contents">): Promise<void> {
    checkSchema(newNoteSchema, note, "note");
    await using journal = await this.#setup.openJournal(this.agentId);
    const { head, writer } = journal;
    if (!head?.state) throw new CheckpointNotFoundError(this.agentId, undefined, []);
    await journal.store([noteRecord(note, { lane: head.state.lane, call: undefined, writer })]);
  }

  /** The values noted under a key in the last run and not rolled back, oldest first. Reads only, also while the agent runs. */
  async getNotes(key: string): Promise<readonly unknown[]> {
    checkSchema(nonEmptyString, key, "key of notes");
    return notedValues(this.#setup.log, this.agentId, key);
  }

  /** The name of its task; `undefined` if the agent is not a task. */
  async getTaskName(): Promise<string | undefined> {
    using head = await readHead(this.#setup.log, this.agentId);
    return head.log.index.statusState.task?.name;
  }

  /**
   * Checks whether an agent could continue from a stored checkpoint. Damage is reported; an error of the storage itself is
   * thrown. If the latest checkpoint cannot be read, no older one is checked in its place.
   *
   * @param checkpointId default: the latest.
   */
  async validateCheckpoint(checkpointId?: string): Promise<CheckpointValidation> {
    checkSchema(nonEmptyString.optional(), checkpointId, "checkpoint id");
    return validateCheckpoint(this.#setup, this.agentId, checkpointId);
  }

  /**
   * The calls on any lane that began and have no known end, in the order in which they began; then the inverses, in the
   * order of their calls. While the agent runs, its calls in flight are included.
   */
  async getToolCallsInDoubt(): Promise<readonly ToolCallInDoubt[]> {
    const log = await AgentLog.read(this.#setup.log, this.agentId);
    const journal = { agentId: this.agentId, sha256: await this.#setup.storage.sha256() };
    return [
      ...callsInDoubt(log).map((call) => toolCallInDoubt(this.agentId, this.#setup.nowNamed(call))),
      ...inversesInDoubt(log).map((made) => {
        const call = this.#setup.nowNamed(made);
        return inverseInDoubt(call, this.#setup.at(call.agentPath)?.registry.inverseOf(call.tool), journal);
      }),
    ];
  }

  /**
   * Settles a call in doubt; the next run or resume continues with the result. A call that was settled with `"retry"` or
   * `"unknown"` may be settled again.
   *
   * An inverse is settled by its own id, also if it failed and blocks a rollback: `{ output }` means that its call is
   * reverted, `{ error }` and `"unknown"` that the call is left unreverted, `"retry"` that the inverse runs again.
   *
   * @throws ToolCallNotInDoubtError, InvalidInputError, NotSerializableError, AgentBusyError; nothing has changed then.
   */
  async settleToolCall(toolCallId: string, settlement: ToolCallSettlement): Promise<void> {
    checkSchema(z.string(), toolCallId, "tool call id");
    const checked = checkSettlement(settlement, toolCallId);
    await using journal = await this.#setup.openJournal(this.agentId);
    await resolveManually(journal, toolCallId, checked);
  }

  /**
   * The open requests of the agent: those that it waits for, and those that some of its lines wait for while others run, or
   * while it is paused. Reads only, also while the agent runs.
   */
  async getRequests(): Promise<readonly PendingRequest[]> {
    using head = await readHead(this.#setup.log, this.agentId);
    return head.state ? pendingRequests({ log: head.log, state: head.state }) : [];
  }

  /**
   * Answers a request; durable when it resolves. Nothing runs until the agent is resumed. The answer is validated by the
   * schema of the request; the first accepted answer counts. An approval is answered by `{ approved: true }`.
   *
   * @param options `by`: who answers, as you know it; kept with the answer. `digest`: of the call that was shown; refuses the
   * answer if another call waits. `timeoutMs`: how long to wait for the owner of the agent, in milliseconds; default 5,000.
   * @throws RequestNotOpenError, ApprovalChangedError, InvalidInputError, NotSerializableError, CheckpointTooLargeError,
   * AgentBusyError; nothing has changed then.
   */
  async answer(requestId: string, answer: unknown, options: AnswerOptions = {}): Promise<void> {
    checkSchema(answerSchema, options, "options of answer()");
    const { by, digest, timeoutMs } = options;
    await this.#reply(requestId, { answer, by, digest }, timeoutMs);
  }

  /**
   * Rejects a request; durable when it resolves. A tool call that waits for approval is not made: the model gets the reason as
   * an error result, node code ToolRejectedError. A request for input throws RequestRejectedError in its node.
   *
   * @param options `by` and `timeoutMs` as for {@link answer}.
   * @throws RequestNotOpenError, InvalidInputError, AgentBusyError; nothing has changed then.
   */
  async reject(requestId: string, reason: string, options: Omit<AnswerOptions, "digest"> = {}): Promise<void> {
    checkSchema(rejectSchema, options, "options of reject()");
    checkSchema(nonEmptyString, reason, "reason of reject()");
    await this.#reply(requestId, { rejected: reason, by: options.by }, options.timeoutMs);
  }

  async #reply(requestId: string, given: GivenReply, timeoutMs = defaultAnswerTimeoutMs): Promise<void> {
    checkSchema(z.string(), requestId, "request id");
    const { telemetry } = this.#setup;
    const action = () => this.#give(requestId, given, timeoutMs);
    await (telemetry ? telemetry.answer(this.agentId, [requestId], action) : action());
  }

  async #give(requestId: string, given: GivenReply, timeoutMs: number): Promise<void> {
    // The process that runs the agent, which may be this one, takes a reply to a line that waits.
    const isTaken = async () =>
      (await LiveRequests.at(this.#setup.log, this.agentId)?.answer(requestId, given)) ?? false;
    if (await isTaken()) return;
    const { clock, log } = this.#setup;
    const until = clock.monotonic() + timeoutMs;
    await inAnswerTurn(log, this.agentId, async () => {
      const left = Math.max(0, until - clock.monotonic());
      const opened = await openUnless(this.#setup, this.agentId, left, isTaken);
      if (!opened) return;
      await using journal = opened;
      const { head } = journal;
      const stored = head?.state && { log: head.log, state: head.state };
      await answerRequests(this.#setup, journal, stored, new Map([[requestId, given]]));
    });
  }

  /**
   * Cancels an unfinished run; its effects remain and can still be reverted. An interrupted rollback is finished first: what
   * cannot be reverted remains. If a process runs it, that process is asked to
   * stop first: its run rejects with StopRequestedError.
   *
   * @param options `timeoutMs`: how long to wait for that process, in milliseconds; default 30,000.
   * @throws RunNotOpenError when the last run has ended, or there is none.
   * @throws AgentBusyError when that process has not stopped in time. The run is not cancelled; it may still stop.
   */
  async cancel(reason?: string, options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    checkSchema(z.string().optional(), reason, "reason of cancel()");
    checkSchema(timeoutSchema, options, "options of cancel()");
    await cancelRun(this.#setup, this.agentId, reason, options.timeoutMs ?? defaultCancelTimeoutMs);
  }

  async #rollBack(checkpointId: string | undefined, options: OutsideOptions = {}): Promise<RollbackReport> {
    const onlyHistory = isHistoryOnly(options);
    const { telemetry } = this.#setup;
    const action = () => this.#ownAndRollBack(checkpointId, options, onlyHistory);
    return telemetry ? telemetry.rollback(this.agentId, action) : action();
  }

  async #ownAndRollBack(
    checkpointId: string | undefined,
    { onFailure }: OutsideOptions,
    onlyHistory: boolean,
  ): Promise<RollbackReport> {
    await using journal = await this.#setup.openJournal(this.agentId);
    const before = await journal.readAll();
    if (onlyHistory) return await this.#restoreMessages(journal, before, checkpointId, onFailure);
    const { version } = findRollbackGoal(before, checkpointId).target;
    const log = await finishOtherRedo(this.#setup, journal, before, { version, onFailure });
    const goal = findRollbackGoal(log, log.index.checkpoints.get(version)?.id);
    const finished = finishedReport(log, goal);
    if (finished) return finished;
    const { lost: signal } = journal;
    const leaves = pausedAt(goal.target);
    const rollback = { setup: this.#setup, journal, log, ...goal, signal, leaves, onFailure };
    const { report } = await rollBack(rollback);
    return report;
  }

  async #restoreMessages(
    journal: Journal,
    before: AgentLog,
    checkpointId: string | undefined,
    onFailure: OutsideOptions["onFailure"],
  ): Promise<RollbackReport> {
    findCheckpoint(before, checkpointId);
    const { log } = await finishRollback(this.#setup, journal, onFailure);
    const { messages: messageHistory, report } = historyOnly(log, checkpointId);
    await continueFromHead(journal, log, { messageHistory, move: "rollback", pauseReason: "messages rolled back" });
    return report;
  }
}
