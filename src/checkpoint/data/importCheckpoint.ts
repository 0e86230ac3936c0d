import { InvalidInputError } from "../../errors/agentErrors.ts";
import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type AgentCheckpointData, type CheckpointDecision, recoveryInfo } from "./AgentCheckpointData.ts";
import { emptyState, firstVisitOf, visitAt, type AgentState } from "../state/AgentState.ts";
import { foldTo } from "../state/foldTo.ts";
import { type ValueWriter, historyRecords, storageRecords } from "../format/ValueWriter.ts";
import type { LanePlace, CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { contentKey, MessageHistory } from "../messages/MessageHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { branchKey, linePath } from "./linePath.ts";
import { stateReferences } from "../state/leanState.ts";
import type { BlobCells } from "../values/BlobCell.ts";
import { ValueReader, type BlobTexts } from "../state/ValueReader.ts";

/**
 * Returns the records that add a whole checkpoint to a log: the changes since its parent, then the checkpoint.
 *
 * @throws AlreadyExistsError if its id exists, or its version is not higher than all stored versions.
 */
export function importCheckpoint(
  data: AgentCheckpointData,
  index: LogProjection,
  blobs: BlobTexts,
  writer: ValueWriter,
): AgentRecord[] {
  assertNew(data, index);
  return new CheckpointImport(data, index, blobs, writer).records();
}

export function parentReferences({ parentId }: AgentCheckpointData, index: LogProjection): BlobCells {
  const parent = parentId === undefined ? undefined : index.byId(parentId);
  const state = parent && foldTo(index, parent);
  return state ? stateReferences(state) : new Map();
}

class CheckpointImport {
  readonly #data: AgentCheckpointData;
  readonly #index: LogProjection;
  readonly #writer: ValueWriter;
  readonly #parent: CheckpointPoint | undefined;
  readonly #lane: number;
  readonly #place: LanePlace | undefined;
  readonly #state: AgentState | undefined;
  readonly #reader: ValueReader;

  constructor(data: AgentCheckpointData, index: LogProjection, blobs: BlobTexts, writer: ValueWriter) {
    this.#data = data;
    this.#index = index;
    this.#writer = writer;
    this.#parent = data.parentId === undefined ? undefined : index.byId(data.parentId);
    assertOwn(data);
    this.#place = data.branch === undefined ? undefined : placeOf(index, this.#parent, data.branch);
    this.#lane = this.#parent && this.#continuesLane(this.#parent) ? this.#parent.record.lane : index.nextLane;
    const state = this.#parent && foldTo(index, this.#parent);
    this.#state = this.#parent?.runId === data.runId ? state : undefined;
    this.#reader = new ValueReader(this.#state ?? emptyState, blobs);
  }

  records(): AgentRecord[] {
    const target = this.#parent?.version ?? 0;
    const { revertedToolCallIds: reverted, name, version } = this.#data;
    const calls = reverted ?? [];
    const reverts = calls.length > 0;
    return [
      ...this.#beginning(),
      ...(reverts ? [{ kind: "rollback", target, calls, closed: calls } as const] : []),
      ...calls.map((call) => ({ kind: "reverted", call }) as const),
      ...this.#stateRecords(),
      ...this.#callRecords(),
      this.#checkpointRecord(),
      ...(name === undefined ? [] : [{ kind: "name", name, version } as const]),
      ...(reverts ? [{ kind: "rollback_end", target } as const] : []),
    ];
  }

  /** Whether the checkpoint continues the lane of its parent. After a move or a finished run, a new lane starts. */
  #continuesLane(parent: CheckpointPoint): boolean {
    const { runId, move } = this.#data;
    const isHead = parent.runId === runId && this.#headOfLine(parent.record.lane) === parent;
    return isHead && parent.record.status === undefined && move === undefined;
  }

  #headOfLine(lane: number): CheckpointPoint | undefined {
    const { lines, latest } = this.#index;
    const place = this.#place;
    if (lines.nestedLine(lane)?.place !== place) return undefined;
    return place ? this.#index.latestOf(lines.nestedLine(lane)?.lane ?? 0) : latest;
  }

  #beginning(): AgentRecord[] {
    const parent = this.#parent;
    const lane = { kind: "lane", lane: this.#lane, ...(parent && { from: parent.version }) } as const;
    if (parent?.runId !== this.#data.runId) return [this.#runRecord(), { ...lane, keep: "nothing" }];
    const run = this.#reopening(parent);
    const place = this.#place;
    if (place && this.#index.lines.lineOf(place) === undefined)
      return [...run, { kind: "lane", lane: this.#lane, place, keep: "all" }];
    return this.#lane === this.#index.nextLane ? [...run, { ...lane, ...(place && { place }), keep: "all" }] : run;
  }

  #runRecord(): AgentRecord {
    const { runId, createdAt, lastInput, runInput } = this.#data;
    const known = "runInput" in this.#data;
    const input = this.#writer.value(known ? runInput : lastInput, "the input of the run");
    return { kind: "run", run: runId, input, at: Date.parse(createdAt), ...(!known && { assumed: true }) };
  }

  #reopening(parent: CheckpointPoint): AgentRecord[] {
    const index = this.#index;
    const run = index.runRecords.get(parent.runId);
    if (run === undefined || (index.run?.run === parent.runId && index.unfinished)) return [];
    const target = parent.record.status === undefined ? parent.version : parent.version - 1;
    return [{ kind: "rollback_end", target }, run];
  }

  #stateRecords(): AgentRecord[] {
    const { decisions: known = [] } = this.#state ?? {};
    const { messageHistory, decisions } = this.#data;
    const history = new MessageHistory(this.#reader.history(), { next: this.#index.nextNumber });
    history.rewrite(() => messageHistory);
    return [
      ...historyRecords(history.takeChanges(), this.#lane, this.#writer),
      ...storageRecords(this.#storageChanges(), this.#lane, this.#writer),
      ...this.#settingsRecords(),
      ...this.#requirementsRecords(),
      ...this.#structureRecords(),
      ...decisions.slice(known.length).map((decision) => this.#decisionRecord(decision)),
    ];
  }

  #storageChanges(): Map<string, { readonly value: unknown } | undefined> {
    const { storage } = this.#data;
    const changes = new Map<string, { readonly value: unknown } | undefined>();
    const before = this.#reader.storage();
    for (const [key, value] of Object.entries(storage))
      if (!before.has(key) || !same(before.get(key), value)) changes.set(key, { value });
    for (const key of before.keys()) if (!Object.hasOwn(storage, key)) changes.set(key, undefined);
    return changes;
  }

  #settingsRecords(): AgentRecord[] {
    const { model = "", tools, modelParameters } = this.#data;
    const parameters = modelParameters && this.#writer.value(modelParameters, "the model parameters");
    const settings = withoutUndefined({ kind: "settings", lane: this.#lane, model, tools, parameters });
    return same(this.#state?.settings, settings) ? [] : [settings];
  }

  #requirementsRecords(): AgentRecord[] {
    const { requiredContext, environment, workingDirectory, fileHashes } = this.#data.recoveryInfo;
    const requirements = withoutUndefined({
      kind: "requirements",
      lane: this.#lane,
      files: requiredContext,
      environment,
      directory: workingDirectory,
      // Custom storages can return null for missing fields.
      hashes: fileHashes ?? undefined,
    });
    const before = recoveryInfo("", this.#state?.requirements);
    return same(before, recoveryInfo("", requirements)) ? [] : [requirements];
  }

  #structureRecords(): AgentRecord[] {
    const { strategyFingerprint: fingerprint } = this.#data;
    if (fingerprint === undefined || fingerprint === this.#state?.structure?.fingerprint) return [];
    return [{ kind: "structure", lane: this.#lane, fingerprint }];
  }

  #decisionRecord({ decision, reason, nodeId, decidedAt }: CheckpointDecision): AgentRecord {
    const at = Date.parse(decidedAt);
    return withoutUndefined({ kind: "decision", lane: this.#lane, at, node: nodeId, decision, reason });
  }

  #callRecords(): AgentRecord[] {
    const visit = this.#parent ? visitAt(this.#parent) : firstVisitOf(this.#lane);
    return this.#data.toolCalls.map((call, ordinal) => {
      const base = {
        kind: "outcome",
        lane: this.#lane,
        visit,
        call: call.toolCallId,
        tool: call.toolName,
        effect: call.effect,
        node: "",
        input: this.#writer.value(call.input, `the input of tool ${call.toolName}`),
        ordinal,
      } as const;
      if (call.status === "failed") return { ...base, error: { message: call.error ?? "" } };
      if (call.status === "moved") return { ...base, moved: true };
      if (call.status === "unknown") return { ...base, unknown: true };
      if (call.status === "lost") return { ...base, lost: { path: "", reason: "could not be stored" } };
      return { ...base, output: this.#writer.value(call.output, `the output of tool ${call.toolName}`) };
    });
  }

  #joined(): number | undefined {
    const { joined } = this.#data;
    const parallelStart = joined === undefined ? undefined : this.#index.byId(joined);
    if (joined === undefined || parallelStart) return parallelStart?.version;
    throw new UnreadableValueError(`it joins branches of the missing checkpoint ${JSON.stringify(joined)}`);
  }

  #checkpointRecord(): AgentRecord {
    const data = this.#data;
    return withoutUndefined({
      kind: "checkpoint",
      lane: this.#lane,
      version: data.version,
      id: data.checkpointId,
      at: Date.parse(data.createdAt),
      node: data.nodeId,
      input: this.#writer.value(data.lastInput, `the input of node ${JSON.stringify(data.nodeId)}`),
      inputType: data.lastInputType,
      unresolved: data.unresolved === true ? true : undefined,
      visit: data.visit,
      iteration: data.iteration,
      progress: data.progress,
      summary: data.progressSummary,
      usage: data.usage,
      status: this.#place || data.status === "in_progress" ? undefined : data.status,
      ended: this.#place && data.status === "completed" ? true : undefined,
      joined: this.#joined(),
      move: data.move ?? undefined,
      by: data.by,
      reason: data.by === undefined ? undefined : data.reason,
      trigger: data.trigger,
      standing: data.standingToolCallIds ?? undefined,
    });
  }
}

/** @throws UnreadableValueError for a checkpoint of a sub-agent, which can be stored only in the log of its caller. */
function assertOwn({ checkpointId, agentPath = [] }: Partial<AgentCheckpointData>): void {
  if (agentPath.length === 0) return;
  const name = `checkpoint ${JSON.stringify(checkpointId)} of sub-agent ${JSON.stringify(agentPath.at(-1))}`;
  throw new UnreadableValueError(`${name} can be stored only in the log of its caller`);
}

/** Returns the place of a branch in the log, also of a new branch. @throws UnreadableValueError */
function placeOf(index: LogProjection, parent: CheckpointPoint | undefined, branch: string): LanePlace {
  const lane = parent?.record.lane ?? 0;
  const line = index.lines.nestedLine(lane);
  if (line && linePath(index, lane).branch === branch) return line.place;
  const key = parent && branchKey(index, parent, branch);
  if (key !== undefined) return { parent: lane, fork: parent?.version ?? 0, branch: key };
  throw new UnreadableValueError(
    `the parent of a checkpoint of branch ${JSON.stringify(branch)} does not start the branch`,
  );
}

function assertNew({ agentId, checkpointId, version }: AgentCheckpointData, index: LogProjection): void {
  const exists = (reason: string) => new AlreadyExistsError("checkpoint_exists", agentId, checkpointId, reason);
  if (index.byId(checkpointId)) throw exists("the agent already has a checkpoint with this id. Choose another id");
  if (version < index.nextVersion)
    throw exists(`its version ${version} is not above the newest, ${index.nextVersion - 1}. Choose a higher version`);
  // Keeps room for later versions, which must be safe integers.
  if (version > 2 ** 52)
    throw new InvalidInputError("checkpoint to record", [{ path: "version", expected: "expected at most 2^52" }]);
}

function same(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || contentKey(a) === contentKey(b);
}
