import { toJSONSchema } from "zod";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import type { AgentRun } from "../agent/feature/AgentRun.ts";
import { executionOf, nodeInputOf, runOf, visitIn, visitOf, withinOf } from "../agent/feature/ContextBinding.ts";
import { runMoved, type RunMoved } from "../agent/strategy/Strategy.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { lanesOfLine } from "../checkpoint/lines/lineage.ts";
import { CheckpointNotPossibleError } from "../errors/checkpointErrors.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { checkSchema, checkSchemaAsync } from "../internal/options/checkSchema.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import { executionPointOf, type GivenExecutionPoint, executionPointSchema } from "./executionPoint/executionPoint.ts";
import { checkNewCheckpoint } from "./saving/checkNewCheckpoint.ts";
import { liveCheckpointData } from "./saving/liveCheckpointData.ts";
import { noteEnvironment } from "../environment/EnvironmentMismatch.ts";
import type * as Changes from "./changes.ts";
import type { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RollbackOptions, RollbackReport } from "./rollback/RollbackReport.ts";
import { createCheckpointSchema, type CreateCheckpointOptions } from "./saving/CreateCheckpointOptions.ts";
import { newNoteSchema, type NewNote } from "./saving/noteRecord.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import type { RunRecorder } from "./saving/RunRecorder.ts";
import { recorders } from "./saving/recorders.ts";

interface BoundRun {
  readonly run: AgentRun;
  readonly recorder: RunRecorder;
}

export class BoundPersistence implements RunPersistence {
  readonly #context: AgentContext;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  async createCheckpoint<Input>(options: CreateCheckpointOptions<Input> = {}): Promise<AgentCheckpointData> {
    checkSchema(createCheckpointSchema, options, "options of createCheckpoint()");
    const { agentContext: context = this.#context } = options;
    const own = this.#at(context);
    return asWork(context, () => this.#saveCheckpoint(context, own, options));
  }

  async #saveCheckpoint<Input>(
    context: AgentContext,
    { run, recorder }: BoundRun,
    options: CreateCheckpointOptions<Input>,
  ): Promise<AgentCheckpointData> {
    const { checkpointId, version = 0 } = options;
    const beginning = options.nodeId === undefined;
    const { node, input } = await this.#pointOf(context, run, options);
    const visit = visitOf(context);
    const again = recorder.named.takeAgain(options, visitIn(visit));
    const recorded =
      again !== undefined && (await this.getCheckpoints()).find((stored) => stored.checkpointId === again);
    if (recorded) return recorded;
    await noteEnvironment(recorder.setup.environment, run.state);
    // The run may have moved meanwhile.
    this.#at(context);
    checkNewCheckpoint(recorder, options);
    if (beginning && recorder.savedWithin) throw new CheckpointNotPossibleError(run.agentId, node);
    const plan = withoutUndefined({
      node,
      input,
      trigger: "asked_for",
      id: checkpointId,
      version: version === 0 ? undefined : version,
      inputType:
        options.lastInputType &&
        JSON.stringify(toJSONSchema(options.lastInputType, { unrepresentable: "any", io: "input" })),
    });
    const parentId = recorder.head?.id;
    const first = recorder.head === undefined;
    const { endedCalls: toolCalls, changedFiles: fileChanges } = recorder;
    const record = beginning
      ? await recorder.saveBeginning(run, visitIn(visit), plan)
      : await recorder.saveWithin(run, plan);
    return liveCheckpointData(recorder, run, record, { input, parentId, first, toolCalls, fileChanges, beginning });
  }

  async rollbackToCheckpoint(checkpointId: string, options: RollbackOptions = {}): Promise<RollbackReport> {
    checkSchema(nonEmptyString, checkpointId, "checkpoint id");
    return this.#rollBack(checkpointId, options);
  }

  async rollbackToLatestCheckpoint(options: RollbackOptions = {}): Promise<RollbackReport> {
    return this.#rollBack(undefined, options);
  }

  async setExecutionPoint(options: GivenExecutionPoint & Pick<RollbackOptions, "agentContext">): Promise<RunMoved> {
    checkSchema(executionPointSchema, options, "execution point");
    const { agentContext: context = this.#context } = options;
    const at = this.#at(context);
    const point = await asWork(context, () => executionPointOf(at.run.graph, options, at.run.root));
    return this.#move(context, at, undefined, async (log, { setExecutionPoint }) => ({
      recorder: await setExecutionPoint({ ...point, ...at, log, move: "execution_point" }),
      report: runMoved({}),
    }));
  }

  note(note: NewNote): void {
    checkSchema(newNoteSchema, note, "note");
    this.#recorder.note(note, withinOf(this.#context));
  }

  durable(): Promise<void> {
    return this.#recorder.journal.durable();
  }

  recordedNotes(key: string): readonly unknown[] {
    const call = withinOf(this.#context);
    const { recording } = this.#recorder;
    return call === undefined ? [] : (recording?.notesOf(call, key) ?? []);
  }

  async getNotes(key: string): Promise<readonly unknown[]> {
    checkSchema(nonEmptyString, key, "key of notes");
    const { log } = this.#recorder.setup;
    const { notedValues } = await import("./changes.ts");
    return notedValues(log, await this.#savedAgentId(), key);
  }

  async getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    const { storage } = this.#recorder.setup;
    return storage.getCheckpoints(await this.#savedAgentId(), filter);
  }

  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    const { storage } = this.#recorder.setup;
    return storage.getLatestCheckpoint(await this.#savedAgentId());
  }

  async #savedAgentId(): Promise<string> {
    const { journal } = this.#recorder;
    await journal.durable();
    return journal.agentId;
  }

  get #recorder(): RunRecorder {
    return this.#at(this.#context).recorder;
  }

  #at(context: AgentContext): BoundRun {
    void context.signal;
    const run = runOf(context);
    return { run, recorder: recorders.of(run) };
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
        { path: "lastInput", expected: "expected an input, because another node is running" },
      ]);
    }
    // Only validates the input. The node receives the original, to which its schema then applies transforms.
    const input = frozenCopy(options.lastInput);
    await checkSchemaAsync(options.lastInputType, input, "lastInput");
    await checkSchemaAsync(run.graph.inputSchemaOf(node), input, `input of node "${node}"`);
    return { node, input };
  }

  async #rollBack(checkpointId: string | undefined, options: RollbackOptions): Promise<RollbackReport> {
    const own = this.#at(Object(options).agentContext ?? this.#context);
    const { setup, journal } = own.recorder;
    const action = () => this.#rollBackLine(own, checkpointId, options);
    return setup.telemetry?.rollback(journal.agentId, action) ?? action();
  }

  async #rollBackLine(
    own: BoundRun,
    checkpointId: string | undefined,
    options: RollbackOptions,
  ): Promise<RollbackReport> {
    const { agentContext: context = this.#context, onFailure } = Object(options) as RollbackOptions;
    const { lane } = own.recorder;
    const { before, onlyHistory, changes } = await asWork(context, async () => {
      const changes = await import("./changes.ts");
      const onlyHistory = changes.isHistoryOnly(options);
      return { changes, onlyHistory, before: await changes.readForMove(own.recorder, checkpointId) };
    });
    const { findCheckpoint, findRollbackTarget, historyOnly, rollBackInRun } = changes;
    const setup = setupOfRun(own.recorder);
    if (onlyHistory) {
      const { id } = findCheckpoint(before, checkpointId, "in_node");
      const point = { node: context.nodeId, input: nodeInputOf(context), move: "rollback" } as const;
      return this.#move(context, own, id, async (log, { setExecutionPoint }) => {
        const { messages: messageHistory, report } = historyOnly(setup, log, id, lane);
        return { report, recorder: await setExecutionPoint({ ...point, ...own, log, messageHistory }) };
      });
    }
    const visit = visitIn(visitOf(context));
    const { id, record } = findRollbackTarget(before, checkpointId, { lane, visit });
    const at = this.#lineOf(own, before, record.lane);
    return this.#move(context, at, id, (log, _changes, unended) => {
      const { run, recorder: from } = at;
      const target = findRollbackTarget(log, id, { lane: from.lane, visit });
      const { journal } = from;
      const goal = { setup, journal, log, target, unended };
      return rollBackInRun({ ...goal, signal: run.signal, onFailure, from });
    });
  }

  #lineOf(own: BoundRun, { index }: AgentLog, lane: number): BoundRun {
    let at: BoundRun = own;
    while (at.run.parent && !lanesOfLine(index, at.recorder.lane).has(lane))
      at = { run: at.run.parent, recorder: recorders.of(at.run.parent) };
    return at;
  }

  async #move<Report>(
    context: AgentContext,
    { run, recorder }: BoundRun,
    checkpointId: string | undefined,
    prepare: (
      log: AgentLog,
      changes: typeof Changes,
      unended: readonly string[],
    ) => Promise<{ readonly recorder: RunRecorder; readonly report: Report }>,
  ): Promise<Report> {
    const own = this.#at(context);
    const asking = withinOf(context);
    let report: Report | undefined;
    const except = [...(asking === undefined ? [] : [asking]), ...callsTo(own.run, run)];
    await run.move({ except, signal: context.signal }, async (unended) => {
      recorder.close();
      const moved = asking === undefined ? [] : own.recorder.calls.move(asking);
      if (moved.length > 0) recorder.journal.append(moved);
      const changes = await import("./changes.ts");
      await changes.giveBackClosed(recorder);
      const log = await changes.readForMove(recorder, checkpointId);
      // Later checkpoints must not refer to unsaved records of the abandoned lane.
      recorder.journal.writer.forget();
      const prepared = await prepare(log, changes, unended);
      report = prepared.report;
      recorders.add(prepared.recorder);
      return prepared.recorder.start;
    });
    return report as Report;
  }
}

/** Starts work of the node, so that the node does not end or wait for input before the work has ended. */
function asWork<Result>(context: AgentContext, work: () => Promise<Result>): Promise<Result> {
  return context.signal.aborted ? work() : executionOf(context).start(undefined, withinOf(context), work);
}

function setupOfRun({ setup, parent }: RunRecorder): PersistenceSetup {
  return parent ? setupOfRun(parent) : setup;
}

function callsTo(from: AgentRun, to: AgentRun): readonly string[] {
  const calls: string[] = [];
  for (let at: AgentRun | undefined = from; at && at !== to; at = at.parent)
    if (at.call !== undefined) calls.push(at.call);
  return calls;
}
