import { z } from "zod";
import type { Node } from "../agent/strategy/Strategy.ts";
import type { PendingRequest } from "../agent/feature/RunResult.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { CheckpointTreeNode } from "../checkpoint/data/checkpointTree.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { numberFrom, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { readHead } from "../storage/readHead.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import { CheckpointNotFoundError } from "../errors/checkpointErrors.ts";
import { newNoteSchema, noteRecord, type NewNote } from "./saving/noteRecord.ts";
import { type GivenReply, inAnswerTurn } from "./waiting/givenReply.ts";
import type { CheckpointValidation } from "../environment/CheckpointValidation.ts";
import { assertNewAgentId } from "../internal/options/assertAgentId.ts";
import type { EditedCheckpoint, EditOptions } from "./edit/editCheckpoint.ts";
import { openUnless } from "../journal/openWithRetry.ts";
import { LiveRequests } from "./waiting/LiveRequests.ts";
import { pendingRequests } from "./waiting/pendingRequests.ts";
import { storedState } from "./starting/startRecorder.ts";
import type { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RollbackOptions, RollbackReport } from "./rollback/RollbackReport.ts";
import type { RestartOptions } from "./rollback/restart.ts";
import type { ToolCallInDoubt, ToolCallSettlement } from "../doubt/ToolCallInDoubt.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import type { StopOptions, StopResult } from "./run/cancelRun.ts";

const defaultAnswerTimeoutMs = 5_000;
/** Twice the lease of the file storage, because an owner sees a stop request when it renews its lease. */
const defaultCancelTimeoutMs = 30_000;

const timeoutMs = numberFrom(0).optional();
const timeoutSchema = strictOptions(() => ({ timeoutMs }));
const rejectShape = { by: nonEmptyString.optional(), timeoutMs };
const rejectSchema = strictOptions(() => rejectShape);
const answerSchema = strictOptions(() => ({ ...rejectShape, digest: nonEmptyString.optional() }));
const stopSchema = strictOptions(() => ({ reason: nonEmptyString, timeoutMs }));
const sendSchema = strictOptions(() => ({ name: nonEmptyString, key: nonEmptyString.optional() }));
const forkSchema = strictOptions(() => ({ checkpointId: nonEmptyString.optional() }));
const messagesSchema = strictOptions(() => ({ original: z.boolean().optional() }));

export interface AnswerOptions {
  /** The person or system that answers. Stored with the answer, and verified only by the option `approvals`. */
  readonly by?: string | undefined;
  /** The digest of the call that the person saw. An answer to another call is rejected. Not compared if omitted. */
  readonly digest?: string | undefined;
  /** How long to wait for the owner of the agent, in milliseconds. Defaults to 5,000. */
  readonly timeoutMs?: number | undefined;
}

type OutsideOptions = Omit<RollbackOptions, "agentContext">;

/**
 * A durable agent, used outside its runs. Methods that change the agent own it until they resolve, and reject with
 * `AgentBusyError` while it runs. After a move the agent is `paused` until you resume it.
 *
 * @example
 * ```ts
 * const durable = persistence(agent).agent("team-7");
 * const checkpoint = await durable.getLatestCheckpoint();
 * if (checkpoint) await durable.nameCheckpoint(checkpoint.checkpointId, "before-import");
 * // Later: undo every call since then, and continue from there.
 * await durable.rollbackToCheckpoint("before-import");
 * await agent.resume({ agentId: "team-7" });
 * ```
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
   * Reverts the calls since a checkpoint. The next run or resume continues from that checkpoint. If an earlier rollback
   * was interrupted, this method continues it. If the checkpoint is on an abandoned branch, the rollback is a redo: it
   * reverts the calls since the common ancestor and restores the messages, state and files of the checkpoint. Calls on
   * that branch that were already reverted stay reverted, and the report lists them as `stayedReverted`.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError, ToolCallInDoubtError, AgentBusyError. The
   *   agent is unchanged.
   * @throws RollbackIncompleteError if a call cannot be reverted. The rollback stays open.
   */
  async rollbackToCheckpoint(checkpointId: string, options?: OutsideOptions): Promise<RollbackReport> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    return this.#rollBack(checkpointId, options);
  }

  /**
   * Rolls back to the latest checkpoint, except those that triggers made within the node that runs next. See
   * {@link rollbackToCheckpoint}.
   */
  async rollbackToLatestCheckpoint(options?: OutsideOptions): Promise<RollbackReport> {
    return this.#rollBack(undefined, options);
  }

  /**
   * Restarts a failed task. Rolls it back to the first checkpoint of its run, with files and effects, and queues it in
   * the same append. If a crash interrupts the restart, call it again to continue.
   *
   * @returns `undefined` if the task failed before its first checkpoint, because no call needs a revert.
   * @throws TaskNotFoundError, ToolCallInDoubtError, AgentBusyError. The task is unchanged.
   * @throws TransitionNotAllowedError if the task did not fail or is not recoverable. The task is unchanged.
   * @throws RollbackIncompleteError if a call cannot be reverted. The task stays failed, and the rollback stays open.
   */
  async restart(options: RestartOptions = {}): Promise<RollbackReport | undefined> {
    const { restart, restartSchema } = await import("./changes.ts");
    checkSchema(restartSchema, options, "options of a restart");
    return restart(this.#setup, this.agentId, options);
  }

  /**
   * Sets the node that runs next. Runs no inverses. Finishes an interrupted rollback first.
   *
   * @throws UnknownNodeError, InvalidInputError, CheckpointNotFoundError, AgentBusyError. The agent is unchanged.
   * @throws RollbackIncompleteError if the interrupted rollback could not revert every call.
   */
  async setExecutionPoint(options: {
    readonly nodeId: string | Node;
    readonly input: unknown;
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<void> {
    const { continueFromHead, executionPointOf, executionPointSchema, finishRollback } = await import("./changes.ts");
    checkSchema(executionPointSchema, options, "execution point");
    const point = await executionPointOf(this.#setup.graph, options);
    await using journal = await this.#setup.openJournal(this.agentId);
    const { log } = await finishRollback(this.#setup, journal);
    await continueFromHead(this.#setup, journal, log, {
      ...point,
      move: "execution_point",
      pauseReason: `execution point set to node ${point.node}`,
    });
  }

  /**
   * Creates an independent copy of this agent under another id. The fork has the history up to the given checkpoint,
   * with all branches and sub-agents, and all open requests under new ids. Without `checkpointId`, it also has the work
   * of nodes since their last checkpoints. This agent is unchanged, may run at the same time, and may be deleted
   * afterwards. The fork has the status of this agent, but is `paused` if this agent runs. It replays finished tool
   * calls and never reverts them. It makes unfinished calls again under new ids. An open rollback of this agent counts
   * as finished in the fork.
   *
   * @param agentId The id of the new agent.
   * @param options `checkpointId`: the checkpoint to fork at. The fork is then `paused`. Defaults to the current
   *   durable state.
   * @returns the new agent, already durable. Resume it with `resume({ agentId })`.
   * @throws AlreadyExistsError (`agent_exists`) if the id is in use.
   * @throws CheckpointNotFoundError if the checkpoint or the agent does not exist.
   * @throws NotSupportedError for a storage without `encodedAppends` and `receive`, such as a three-method storage.
   * @throws AgentBusyError while another process creates an agent with that id.
   * @throws CorruptLogError, UnreadableValueError if the log of this agent is damaged.
   */
  async fork(agentId: string, options: { readonly checkpointId?: string | undefined } = {}): Promise<DurableAgent> {
    assertNewAgentId(agentId);
    checkSchema(forkSchema, options, "options of fork()");
    const { forkAgent } = await import("./changes.ts");
    await forkAgent(this.#setup, this.agentId, agentId, options.checkpointId);
    return new DurableAgent(agentId, this.#setup);
  }

  /**
   * Starts a branch at a checkpoint, with changes to the run, branch or sub-agent of the checkpoint, whose node starts
   * from its beginning. Other branches and sub-agents continue from their state at that time. The edit reverts no calls
   * and runs no nodes. The agent is `paused` until you resume it. An interrupted rollback is finished first.
   *
   * @param checkpointId the id or the name of any checkpoint.
   * @throws CheckpointNotFoundError, UnknownNodeError, InvalidInputError, NotSerializableError, AgentBusyError, and any
   *   error that the functions in `options` throw. The agent is unchanged.
   * @throws CheckpointTooLargeError, RollbackIncompleteError. No edit is made, but an interrupted rollback may have
   *   made progress.
   */
  async editCheckpoint(checkpointId: string, options: EditOptions): Promise<EditedCheckpoint> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    const { editCheckpoint, editSchema } = await import("./changes.ts");
    checkSchema(editSchema, options, "edit");
    return editCheckpoint(this.#setup, this.agentId, checkpointId, options);
  }

  /**
   * Allows an imported copy to run even if the original can still run. Both can then make the same calls. Has no effect
   * on an agent that is not a copy.
   *
   * @throws CheckpointNotFoundError if the agent does not exist. AgentMovedError, AgentBusyError.
   */
  async takeOver(): Promise<void> {
    using head = await readHead(this.#setup.log, this.agentId);
    if (!head.state) throw new CheckpointNotFoundError(this.agentId, undefined, []);
    await using _journal = await this.#setup.openJournal(this.agentId, "take_over");
  }

  /** Returns the checkpoints, oldest first. */
  async getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    return this.#setup.storage.getCheckpoints(this.agentId, filter);
  }

  /**
   * Returns all checkpoints as a tree. The children of a checkpoint are the next checkpoint, and the first checkpoints
   * of branches, sub-agents and moves that start there. `isHead` marks the checkpoints from which the agent continues.
   * Reads no values, and works while the agent runs.
   *
   * @returns the roots, oldest first: the first checkpoint, or several if pruning removed checkpoints. Empty for an
   *   unknown agent.
   */
  async checkpointTree(): Promise<readonly CheckpointTreeNode[]> {
    const { index } = await AgentLog.read(this.#setup.log, this.agentId, {}, () => false);
    return (await import("./changes.ts")).checkpointTree(index);
  }

  /**
   * Returns the messages at the latest checkpoint, oldest first. Returns an empty array for an unknown agent.
   *
   * @param options.original returns the messages before trimming, as far as the log still has them. Defaults to false.
   */
  async getMessages(options: { readonly original?: boolean | undefined } = {}): Promise<readonly Message[]> {
    checkSchema(messagesSchema, options, "options of getMessages()");
    const { original: originals = false } = options;
    using head = originals ? undefined : await readHead(this.#setup.log, this.agentId);
    if (head?.state?.checkpoint) return head.log.messagesOf(head.state);
    const log = await AgentLog.read(this.#setup.log, this.agentId);
    const state = log.index.latest && foldTo(log.index, log.index.latest, { originals });
    return state ? log.messagesOf(state) : [];
  }

  /** Returns the latest checkpoint, or `undefined` if the agent has no checkpoint. */
  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    return this.#setup.storage.getLatestCheckpoint(this.agentId);
  }

  /**
   * Names a checkpoint. Methods that take a checkpoint id accept the name, as in `rollbackToCheckpoint(name)`.
   * Retention keeps named checkpoints. A name belongs to one checkpoint, and a checkpoint has one name, so that a new
   * assignment replaces an old one.
   *
   * @param checkpointId the id or the current name of the checkpoint.
   * @param name 1 to 256 characters, not of the form `<number>-<number>`.
   * @throws InvalidInputError, CheckpointNotFoundError, AgentBusyError.
   * @throws AlreadyExistsError if a checkpoint has the name as its id.
   * @throws NotSupportedError for a three-method storage.
   */
  async nameCheckpoint(checkpointId: string, name: string): Promise<void> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    checkSchema(z.string(), name, "name of a checkpoint");
    const { nameCheckpoint } = await import("./changes.ts");
    await nameCheckpoint(this.#setup, this.agentId, { checkpointId, name });
  }

  /**
   * Removes a name that {@link nameCheckpoint} gave. The checkpoint stays until retention deletes it.
   *
   * @throws CheckpointNotFoundError if no checkpoint has the name. The error lists the existing names.
   * @throws AgentBusyError
   */
  async removeCheckpointName(name: string): Promise<void> {
    checkSchema(nonEmptyString, name, "name of a checkpoint");
    const { removeCheckpointName } = await import("./changes.ts");
    await removeCheckpointName(this.#setup, this.agentId, name);
  }

  /**
   * Stores a value in the log of the agent's last run, for features such as rollback participants. A rollback to an
   * earlier checkpoint removes the value. Durable when the promise resolves. A three-method storage keeps no notes.
   *
   * @throws NotSerializableError, AgentBusyError.
   * @throws CheckpointNotFoundError if the agent has never run.
   */
  async note(note: Omit<NewNote, "contents">): Promise<void> {
    checkSchema(newNoteSchema, note, "note");
    await using journal = await this.#setup.openJournal(this.agentId);
    const { head, writer } = journal;
    // 0 is the lane of a task that has never run.
    if (!head?.state?.lane) throw new CheckpointNotFoundError(this.agentId, undefined, []);
    await journal.store([noteRecord(note, { lane: head.state.lane, call: undefined, writer })]);
  }

  /** Returns the unreverted values that the last run noted under a key, in branches and sub-agents too, oldest first. */
  async getNotes(key: string): Promise<readonly unknown[]> {
    checkSchema(nonEmptyString, key, "key of notes");
    const { notedValues } = await import("./changes.ts");
    return notedValues(this.#setup.log, this.agentId, key);
  }

  /** Returns the name of the agent's task, or `undefined` if the agent is not a task. */
  async getTaskName(): Promise<string | undefined> {
    using head = await readHead(this.#setup.log, this.agentId);
    return head.log.index.statusState.task?.name;
  }

  /**
   * Checks whether the agent could continue from a stored checkpoint. The result contains damage, but errors of the
   * storage itself are thrown. If the latest checkpoint is unreadable, no older one is checked.
   *
   * @param checkpointId Defaults to the latest checkpoint.
   */
  async validateCheckpoint(checkpointId?: string): Promise<CheckpointValidation> {
    checkSchema(nonEmptyString.optional(), checkpointId, "checkpoint id");
    const { validateCheckpoint } = await import("./changes.ts");
    return validateCheckpoint(this.#setup, this.agentId, checkpointId);
  }

  /**
   * Returns the calls in doubt, including those on abandoned branches, in start order, and then the inverses in doubt.
   * A call in doubt has started but has no recorded outcome, or has failed at its time limit. While the agent runs, the
   * list includes running calls.
   */
  async getToolCallsInDoubt(): Promise<readonly ToolCallInDoubt[]> {
    const { callsInDoubt, inverseInDoubt, inversesInDoubt, toolCallInDoubt } = await import("./changes.ts");
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
   * Settles a call in doubt. The next run or resume continues with the result. A call that was settled with `"retry"`
   * or `"unknown"` can be settled again.
   *
   * To settle an inverse, pass the id of the inverse. This is also possible if the inverse failed and blocks a
   * rollback. `{ output }` marks the call as reverted. `{ error }` and `"unknown"` keep the effect of the call.
   * `"retry"` runs the inverse again.
   *
   * @throws ToolCallNotInDoubtError, InvalidInputError, NotSerializableError, AgentBusyError. The agent is unchanged.
   */
  async settleToolCall(toolCallId: string, settlement: ToolCallSettlement): Promise<void> {
    checkSchema(z.string(), toolCallId, "tool call id");
    const { checkSettlement, resolveManually } = await import("./changes.ts");
    const checked = checkSettlement(settlement, toolCallId);
    await using journal = await this.#setup.openJournal(this.agentId);
    await resolveManually(this.#setup, journal, toolCallId, checked);
  }

  /** Returns the open requests of the agent, even if it is paused or a part of it runs. Works while the agent runs. */
  async getRequests(): Promise<readonly PendingRequest[]> {
    using head = await readHead(this.#setup.log, this.agentId);
    return pendingRequests(head);
  }

  /**
   * Answers a request. Durable when the promise resolves. No node runs until the agent is resumed. The schema of the
   * request validates the answer. Later answers are rejected. Answer an approval with `{ approved: true }`.
   *
   * @throws RequestNotOpenError, ApprovalChangedError, InvalidInputError, NotSerializableError,
   *   CheckpointTooLargeError, AgentBusyError. The agent is unchanged.
   */
  async answer(requestId: string, answer: unknown, options: AnswerOptions = {}): Promise<void> {
    checkSchema(answerSchema, options, "options of answer()");
    const { by, digest, timeoutMs } = options;
    await this.#reply(requestId, { answer, by, digest }, timeoutMs);
  }

  /**
   * Rejects a request. Durable when the promise resolves. A rejected tool call is not made: the model gets the reason
   * as an error result, and node code gets ToolRejectedError. A rejected request for input throws RequestRejectedError
   * in its node.
   *
   * @throws RequestNotOpenError, InvalidInputError, AgentBusyError. The agent is unchanged.
   */
  async reject(requestId: string, reason: string, options: Omit<AnswerOptions, "digest"> = {}): Promise<void> {
    checkSchema(rejectSchema, options, "options of reject()");
    checkSchema(nonEmptyString, reason, "reason of reject()");
    await this.#reply(requestId, { rejected: reason, by: options.by }, options.timeoutMs);
  }

  async #reply(requestId: string, given: GivenReply, timeoutMs = defaultAnswerTimeoutMs): Promise<void> {
    checkSchema(z.string(), requestId, "request id");
    const action = () => this.#give(requestId, given, timeoutMs);
    await (this.#setup.telemetry?.answer(this.agentId, [requestId], action) ?? action());
  }

  async #give(requestId: string, given: GivenReply, timeoutMs: number): Promise<void> {
    // The process that runs the agent, even this one, passes the reply to the waiting branch.
    const isTaken = async () =>
      (await LiveRequests.at(this.#setup.log, this.agentId)?.answer(requestId, given)) ?? false;
    if (await isTaken()) return;
    const { clock, log } = this.#setup;
    const until = clock.monotonic() + timeoutMs;
    await inAnswerTurn(log, this.agentId, async () => {
      const { answerRequests } = await import("./waiting/answerRequests.ts");
      const left = Math.max(0, until - clock.monotonic());
      const opened = await openUnless(this.#setup, this.agentId, left, isTaken);
      if (!opened) return;
      await using journal = opened;
      await answerRequests(this.#setup, journal, storedState(journal), new Map([[requestId, given]]));
    });
  }

  /**
   * Sends an event to the agent. Exactly one call of `context.receive` returns the event. Durable when the promise
   * resolves. Works without ownership: while the agent runs in any process, before its first run, and after its last
   * run. If the agent waits for the event, a worker continues the agent. Without a worker, call `resume`.
   *
   * @param options.key Identifies the event. Sending an equal event with the same key again has no effect.
   * @throws InvalidInputError, NotSerializableError. EventKeyUsedError if the key belongs to another event.
   * @throws AgentBusyError if other senders keep the inbox for 30 seconds.
   * @throws NotSupportedError for a storage that does not keep requests, such as a three-method storage.
   */
  async send(name: string, payload: unknown, options: { readonly key?: string | undefined } = {}): Promise<void> {
    checkSchema(sendSchema, { ...options, name }, "arguments of send()");
    const { log, clock } = this.#setup;
    if (log.capabilities.keeps !== undefined) throw new NotSupportedError("send()", "requests");
    const event = { name, payload: frozenCopy(payload), key: options.key, at: clock.now() };
    await (await this.#setup.inbox()).send(this.agentId, event);
  }

  /**
   * Cancels an unfinished run. The effects of the run remain and can still be reverted. An interrupted rollback is
   * finished first, except for calls that it cannot revert. If a process runs the agent, it is asked to stop, and its
   * run rejects with StopRequestedError.
   *
   * @param options `timeoutMs`: how long to wait for that process, in milliseconds. Defaults to 30,000.
   * @throws RunNotOpenError if the last run has finished or the agent has no run.
   * @throws AgentBusyError if that process does not stop in time. The run is not cancelled, but may still stop.
   */
  async cancel(reason?: string, options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    checkSchema(z.string().optional(), reason, "reason of cancel()");
    checkSchema(timeoutSchema, options, "options of cancel()");
    const { cancelRun } = await import("./changes.ts");
    await cancelRun(this.#setup, this.agentId, reason, options.timeoutMs ?? defaultCancelTimeoutMs);
  }

  /**
   * Stops the run of the agent in any process, and pauses the agent. The call of `run` or `resume` rejects with
   * StopRequestedError, which has the given `reason`, and the streams of the run end. No worker continues the agent
   * until you call `resume`, `run` or `tasks.resume`. Has no effect without a run in progress.
   *
   * A run in this process stops at once. Another process sees the request at its next lease renewal.
   *
   * @throws AgentBusyError if the other process does not stop in time. Its run may still stop later.
   */
  async stop(options: StopOptions): Promise<StopResult> {
    checkSchema(stopSchema, options, "options of stop()");
    const { reason, timeoutMs = defaultCancelTimeoutMs } = options;
    const { stopRun } = await import("./changes.ts");
    return stopRun(this.#setup, this.agentId, { reason, timeoutMs });
  }

  async #rollBack(checkpointId: string | undefined, options: OutsideOptions = {}): Promise<RollbackReport> {
    const { isHistoryOnly, rollBackFromOutside } = await import("./changes.ts");
    const onlyHistory = isHistoryOnly(options);
    const { agentId } = this;
    return rollBackFromOutside(this.#setup, { agentId, checkpointId, onlyHistory, onFailure: options.onFailure });
  }
}
