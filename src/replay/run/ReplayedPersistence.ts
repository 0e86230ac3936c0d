import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { nodeInputOf, runOf } from "../../agent/feature/ContextBinding.ts";
import { runMoved, type RunMoved } from "../../agent/strategy/Strategy.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { formatVersion } from "../../checkpoint/records/Entry.ts";
import type { RunPersistence } from "../../persistence/RunPersistence.ts";

type RollbackReport = Awaited<ReturnType<RunPersistence["rollbackToCheckpoint"]>>;
type SavedCheckpoint = Pick<AgentCheckpointData, "checkpointId" | "version">;

interface InContext {
  readonly agentContext?: AgentContext | undefined;
}

/** The results that a node gets from `persistence(context)` in a replay, which stores no data. */
export interface PersistenceAnswers {
  /**
   * Resolves if the recorded run moved at this place. `actual` is an execution point, or the checkpoint of a rollback,
   * which is `undefined` for the latest checkpoint.
   */
  move(context: AgentContext, actual: string | object | undefined): Promise<void>;
  /** Returns the recorded checkpoint. `isBeginning` is true if the node is repeated from its start. */
  save(context: AgentContext, isBeginning: boolean): Promise<SavedCheckpoint | undefined>;
}

export class ReplayedPersistence implements RunPersistence {
  readonly #context: AgentContext;
  readonly #answers: PersistenceAnswers;

  constructor(context: AgentContext, answers: PersistenceAnswers) {
    this.#context = context;
    this.#answers = answers;
  }

  async createCheckpoint(
    options: InContext & { readonly checkpointId?: string | undefined; readonly nodeId?: unknown } = {},
  ): Promise<AgentCheckpointData> {
    const { agentContext: context = this.#context, checkpointId, nodeId } = options;
    const saved = await this.#answers.save(context, nodeId === undefined);
    return checkpointHere(context, { ...(checkpointId !== undefined && { checkpointId }), ...saved });
  }

  async rollbackToCheckpoint(checkpointId: string, options: InContext = {}): Promise<RollbackReport> {
    await this.#answers.move(options.agentContext ?? this.#context, checkpointId);
    return report(checkpointId);
  }

  async rollbackToLatestCheckpoint(options: InContext = {}): Promise<RollbackReport> {
    await this.#answers.move(options.agentContext ?? this.#context, undefined);
    return report("");
  }

  async setExecutionPoint(
    options: InContext & { readonly nodeId: unknown; readonly input: unknown },
  ): Promise<RunMoved> {
    const { agentContext: context = this.#context, nodeId, input } = options;
    const node = typeof nodeId === "string" ? nodeId : String(Object(nodeId).name);
    await this.#answers.move(context, { nodeId: node, input });
    return runMoved({});
  }

  note(): void {}

  async durable(): Promise<void> {}

  recordedNotes(): readonly unknown[] {
    return [];
  }

  async getNotes(): Promise<readonly unknown[]> {
    return [];
  }

  async getCheckpoints(): Promise<readonly AgentCheckpointData[]> {
    return [checkpointHere(this.#context, {})];
  }

  async getLatestCheckpoint(): Promise<AgentCheckpointData | undefined> {
    return checkpointHere(this.#context, {});
  }
}

/** Returns a checkpoint of the replayed run, which is not stored. */
function checkpointHere(context: AgentContext, own: Partial<SavedCheckpoint>): AgentCheckpointData {
  const { state, branch, agentPath, visitBase } = runOf(context);
  const { model, parameters, tools } = state.settings;
  return Object.freeze({
    checkpointId: `replayed-${visitBase}`,
    agentId: context.agentId,
    runId: context.runId,
    version: visitBase,
    ...own,
    createdAt: new Date(0).toISOString(),
    nodeId: context.nodeId,
    lastInput: nodeInputOf(context),
    ...(branch !== undefined && { branch }),
    agentPath: [...agentPath],
    messageHistory: state.history.messagesAtMark,
    storage: Object.freeze(Object.fromEntries(state.storage.valuesAtMark)),
    model,
    ...(parameters && { modelParameters: parameters }),
    tools,
    iteration: state.iteration,
    status: "in_progress",
    toolCalls: [],
    decisions: [],
    fileChanges: { modified: [], created: [], deleted: [] },
    recoveryInfo: { resumePoint: context.nodeId, requiredContext: [], environment: {} },
    formatVersion,
    checksum: "",
  });
}

function report(checkpointId: string): RollbackReport {
  const none: readonly never[] = [];
  const lists = { reverted: none, failed: none, irreversible: none, skipped: none, stayedReverted: none };
  return runMoved({ checkpointId, ...lists, participants: none });
}
