import { toJSONSchema } from "zod";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import type { AgentRun } from "../agent/feature/AgentRun.ts";
import { callOf, nodeInputOf, runOf, visitOf } from "../agent/feature/ContextBinding.ts";
import type { Node } from "../agent/strategy/Strategy.ts";
import { runMoved, type RunMoved } from "../agent/context/RunMoved.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import { encodeValue } from "../checkpoint/values/valueCodec.ts";
import { CheckpointNotPossibleError } from "../errors/checkpoint/CheckpointNotPossibleError.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { checkSchema, checkSchemaAsync } from "../internal/options/checkSchema.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import { nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import {
  assertStorableHistory,
  type ExecutionPointOptions,
  executionPointSchema,
  setExecutionPoint,
} from "./move/setExecutionPoint.ts";
import { checkNewCheckpoint } from "./record/checkNewCheckpoint.ts";
import { findCheckpoint, findRollbackTarget } from "./move/findCheckpoint.ts";
import { historyOnlyReport, isHistoryOnly, messagesAt, type RollbackOptions } from "./rollback/historyOnly.ts";
import { liveCheckpointData } from "./record/liveCheckpointData.ts";
import { noteEnvironment } from "./environment/Environment.ts";
import type { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RollbackReport } from "./rollback/RollbackReport.ts";
import { rollBack } from "./rollback/rollBack.ts";
import { createCheckpointSchema, type CreateCheckpointOptions } from "./record/CreateCheckpointOptions.ts";
import { newNoteSchema, type NewNote } from "./record/noteRecord.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import type { RunRecorder } from "./record/RunRecorder.ts";
import type { RunRecorders } from "./record/RunRecorders.ts";

/** {@link RunPersistence} for one context. */
export class BoundPersistence implements RunPersistence {
  readonly #context: AgentContext;
  readonly #setup: PersistenceSetup;
  readonly #recorders: RunRecorders;

  constructor(context: AgentContext, setup: PersistenceSetup, recorders: RunRecorders) {
    this.#context = context;
    this.#setup = setup;
    this.#recorders = recorders;
  }

  async createCheckpoint<Input>(options: CreateCheckpointOptions<Input> = {}): Promise<AgentCheckpointData> {
    checkSchema(createCheckpointSchema, options, "options of createCheckpoint()");
    const { agentContext: context = this.#context, checkpointId, version = 0 } = options;
    const { run, recorder } = this.#at(context);
    const beginning = options.nodeId === undefined;
    const { node, input } = await this.#pointOf(context, run, options);
    const visit = visitOf(context);
    const again = recorder.named.takeAgain(options, node, [visit.base, visit.ordinal]);
    const recorded =
      again !== undefined && (await this.getCheckpoints()).find((stored) => stored.checkpointId === again);
    if (recorded) return recorded;
    await noteEnvironment(this.#setup.environment, run.state);
    checkNewCheckpoint(recorder, options);
    if (beginning && recorder.savedWithin) throw new CheckpointNotPossibleError(run.agentId, node);
    const plan = {
      node,
      input,
      trigger: "asked_for",
      ...(checkpointId !== undefined && { id: checkpointId }),
      ...(version !== 0 && { version }),
      ...(options.lastInputType && {
        inputType: JSON.stringify(toJSONSchema(options.lastInputType, { unrepresentable: "any", io: "input" })),
      }),
    };
    const parentId = recorder.head?.id;
    const first = recorder.head === undefined;
    const { endedCalls: toolCalls, changedFiles: fileChanges } = recorder;
    const record = beginning
      ? await recorder.saveBeginning(run, [visit.base, visit.ordinal], plan)
      : await recorder.saveWithin(run, plan);
    return liveCheckpointData({ recorder, run, record, input, parentId, first, toolCalls, fileChanges, beginning });
  }

  async rollbackToCheckpoint(checkpointId: string, options: RollbackOptions = {}): Promise<RollbackReport> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    return this.#rollBack(checkpointId, options);
  }

  async rollbackToLatestCheckpoint(options: RollbackOptions = {}): Promise<RollbackReport> {
    return this.#rollBack(undefined, options);
  }

  async setExecutionPoint<Input>(options: {
    readonly agentContext?: AgentContext | undefined;
    readonly nodeId: string | Node<Input>;
    readonly input: NoInfer<Input>;
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<RunMoved> {
    checkSchema(executionPointSchema, options, "execution point");
    const { agentContext: context = this.#context, messageHistory } = options;
    const { run } = this.#at(context);
    const node = run.graph.resolve(options.nodeId);
    const input = frozenCopy(options.input);
    await checkSchemaAsync(run.graph.leaf(node).input, input, `input of node "${node}"`);
    encodeValue(input, `the input of node "${node}"`);
    assertStorableHistory(messageHistory);
    await this.#point(context, { node, input, move: "execution_point", ...(messageHistory && { messageHistory }) });
    return runMoved({});
  }

  note(note: NewNote): void {
    checkSchema(newNoteSchema, note, "note");
    this.#at(this.#context).recorder.note(note, callOf(this.#context)?.toolCallId);
  }

  durable(): Promise<void> {
    return this.#at(this.#context).recorder.journal.durable();
  }

  recordedNotes(key: string): readonly unknown[] {
    const call = callOf(this.#context)?.toolCallId;
    const { recording } = this.#at(this.#context).recorder;
    return call === undefined ? [] : (recording?.notesOf(call, key) ?? []);
  }

  async getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    const { run, recorder } = this.#at(this.#context);
    await recorder.journal.durable();
    return this.#setup.storage.getCheckpoints(run.agentId, filter);
  }

  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    const { run, recorder } = this.#at(this.#context);
    await recorder.journal.durable();
    return this.#setup.storage.getLatestCheckpoint(run.agentId);
  }

  /** @throws ExecutionMovedError when the context is closed. */
  #at(context: AgentContext): { readonly run: AgentRun; readonly recorder: RunRecorder } {
    void context.signal;
    const run = runOf(context);
    return { run, recorder: this.#recorders.of(run) };
  }

  async #pointOf<Input>(
    context: AgentContext,
    run: AgentRun,
    options: CreateCheckpointOptions<Input>,
  ): Promise<{ readonly node: string; readonly input: unknown }> {
    const node = options.nodeId === undefined ? context.nodeId : run.graph.resolve(options.nodeId);
    if (!("lastInput" in options)) {
      if (node === context.nodeId) return { node, input: nodeInputOf(context) };
      throw new InvalidInputError(`checkpoint before node "${node}"`, [
        {
          path: "lastInput",
          expected: "the input that the node is to get; the running node's own input is not meant for it",
        },
      ]);
    }
    // Checked, and kept as it is: a schema that changes its value changes it once, when the node runs.
    const input = frozenCopy(options.lastInput);
    await checkSchemaAsync(options.lastInputType, input, "lastInput");
    await checkSchemaAsync(run.graph.leaf(node).input, input, `input of node "${node}"`);
    return { node, input };
  }

  async #rollBack(checkpointId: string | undefined, options: RollbackOptions): Promise<RollbackReport> {
    const historyOnly = isHistoryOnly(options);
    const { agentContext: context = this.#context } = options;
    const { run, recorder } = this.#at(context);
    const { index } = await recorder.journal.readAll();
    if (historyOnly) {
      const target = findCheckpoint(run.agentId, index, checkpointId);
      return this.#restoreMessages(context, target.id);
    }
    const target = findRollbackTarget(run.agentId, index, checkpointId);
    let done: RollbackReport | undefined;
    await this.#move(context, async (log) => {
      const point = findRollbackTarget(run.agentId, log.index, target.id);
      const { report, recorder: next } = await rollBack({
        setup: this.#setup,
        journal: recorder.journal,
        log,
        target: point,
        signal: run.signal,
      });
      done = report;
      return next;
    });
    // The move has resolved, so its preparation has.
    return done as RollbackReport;
  }

  async #restoreMessages(context: AgentContext, checkpointId: string): Promise<RollbackReport> {
    const run = runOf(context);
    const point = { node: context.nodeId, input: nodeInputOf(context), move: "rollback" } as const;
    let done: RollbackReport | undefined;
    await this.#point(context, point, (log) => {
      const target = findCheckpoint(run.agentId, log.index, checkpointId);
      done = historyOnlyReport(log, target);
      return messagesAt(log, target);
    });
    return done as RollbackReport;
  }

  async #point(
    context: AgentContext,
    point: Pick<ExecutionPointOptions, "node" | "input" | "move" | "messageHistory">,
    historyFrom?: (log: AgentLog) => readonly Message[],
  ): Promise<void> {
    const { run, recorder } = this.#at(context);
    await this.#move(context, (log) => {
      const messageHistory = historyFrom ? historyFrom(log) : point.messageHistory;
      return setExecutionPoint({
        ...point,
        log,
        recorder,
        run,
        ...(messageHistory && { messageHistory }),
      });
    });
  }

  async #move(context: AgentContext, prepare: (log: AgentLog) => Promise<RunRecorder>): Promise<void> {
    const { run, recorder } = this.#at(context);
    const asking = callOf(context)?.toolCallId;
    await run.move(asking === undefined ? {} : { except: asking }, async () => {
      recorder.closed = true;
      if (asking !== undefined) recorder.recordMoved(asking);
      const log = await recorder.journal.readAll();
      // What the line that is left recorded since its checkpoint is not on the next one.
      recorder.journal.writer.forget();
      const next = await prepare(log);
      this.#recorders.add(next);
      return next.start;
    });
  }
}
