import { AlreadyExistsError } from "../../errors/storage/AlreadyExistsError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentCheckpointData, CheckpointDecision, CheckpointToolCall } from "./AgentCheckpointData.ts";
import { emptyState, firstVisitOf, foldTo, visitAt, type AgentState } from "../state/AgentState.ts";
import { historyRecords, storageRecords } from "../format/changeRecords.ts";
import type { CheckpointPoint, LogProjection } from "../state/LogProjection.ts";
import { MessageHistory } from "../messages/MessageHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { Visit } from "../records/Visit.ts";
import { recoveryInfo } from "./checkpointData.ts";
import { ValueReader, type BlobTexts } from "../state/ValueReader.ts";
import type { ValueWriter } from "../format/ValueWriter.ts";

/**
 * The records that add a whole checkpoint to a log: what differs from its parent, then the checkpoint. For storages that
 * keep checkpoints instead of records, and for checkpoints saved from outside a run.
 *
 * @throws AlreadyExistsError when its id is taken or its version is not above the newest.
 */
export function importCheckpoint(
  data: AgentCheckpointData,
  index: LogProjection,
  blobs: BlobTexts,
  writer: ValueWriter,
): AgentRecord[] {
  assertNew(data, index);
  const parent = data.parentId === undefined ? undefined : index.byId(data.parentId);
  const state = parent && foldTo(index, parent);
  const before = parent?.runId === data.runId ? state : undefined;
  const lane = continuesLane(parent, data, index) ? parent.record.lane : index.nextLane;
  const target = parent?.version ?? 0;
  const visit = parent ? visitAt(parent) : firstVisitOf(lane);
  return [
    ...beginning(parent, lane, data, index, writer),
    ...revertRecords(data, target),
    ...stateRecords(before, data, lane, new ValueReader(before ?? emptyState, blobs), index.nextNumber, writer),
    ...callRecords(data.toolCalls, lane, visit, writer),
    checkpointRecord(data, lane, writer),
    ...(reverts(data) ? [{ kind: "rollback_end", target } as const] : []),
  ];
}

/** A move begins a lane of its own, and so does a run that continues after its end. */
function continuesLane(
  parent: CheckpointPoint | undefined,
  { runId, move }: AgentCheckpointData,
  { latest }: LogProjection,
): parent is CheckpointPoint {
  if (parent === undefined || parent.runId !== runId || latest !== parent) return false;
  return parent.record.status === undefined && move === undefined;
}

/** The records of the run and of the lane, if they begin or continue here. */
function beginning(
  parent: CheckpointPoint | undefined,
  lane: number,
  data: AgentCheckpointData,
  index: LogProjection,
  writer: ValueWriter,
): AgentRecord[] {
  const from = parent && { from: parent.version };
  if (parent?.runId !== data.runId)
    return [runRecord(data, writer), { kind: "lane", lane, ...from, keep: "nothing" } as const];
  const run = reopening(parent, data, index);
  return lane === index.nextLane ? [...run, { kind: "lane", lane, ...from, keep: "all" } as const] : run;
}

function runRecord(data: AgentCheckpointData, writer: ValueWriter): AgentRecord {
  const known = "runInput" in data;
  const input = writer.value(known ? data.runInput : data.lastInput, "the input of the run");
  return { kind: "run", run: data.runId, input, at: Date.parse(data.createdAt), ...(!known && { assumed: true }) };
}

/** A run that had ended, or was followed by another, continues: it was rolled back. */
function reopening(parent: CheckpointPoint, { runId }: AgentCheckpointData, index: LogProjection): AgentRecord[] {
  const run = index.runRecords.get(runId);
  if (run === undefined || (index.run?.run === runId && index.unfinished)) return [];
  const kept = parent.record.status === undefined ? parent.version : parent.version - 1;
  return [{ kind: "rollback_end", target: kept }, run];
}

function reverts({ revertedToolCallIds }: AgentCheckpointData): boolean {
  return (revertedToolCallIds?.length ?? 0) > 0;
}

function assertNew({ agentId, checkpointId, version }: AgentCheckpointData, index: LogProjection): void {
  if (index.byId(checkpointId))
    throw new AlreadyExistsError(
      "checkpoint_exists",
      agentId,
      checkpointId,
      "the agent already has a checkpoint with this id. Choose another id",
    );
  if (version < index.nextVersion) {
    throw new AlreadyExistsError(
      "checkpoint_exists",
      agentId,
      checkpointId,
      `its version ${version} is not above the newest, ${index.nextVersion - 1}. Choose a higher version`,
    );
  }
}

/** What the checkpoint changes in the state of its parent. */
function stateRecords(
  state: AgentState | undefined,
  data: AgentCheckpointData,
  lane: number,
  reader: ValueReader,
  nextNumber: number,
  writer: ValueWriter,
): AgentRecord[] {
  const entries = (state?.history ?? []).map(({ number, message }) => ({ number, message: reader.message(message) }));
  const history = new MessageHistory(entries, nextNumber);
  history.rewrite(() => data.messageHistory);
  return [
    ...historyRecords(history.takeChanges(), lane, writer),
    ...storageRecords(storageChanges(state, data, reader), lane, writer),
    ...settingsRecords(state, data, lane, writer),
    ...requirementsRecords(state, data, lane),
    ...structureRecords(state, data, lane),
    ...data.decisions.slice(state?.decisions.length ?? 0).map((decision) => decisionRecord(decision, lane)),
  ];
}

function settingsRecords(
  state: AgentState | undefined,
  { model = "", tools, modelParameters }: AgentCheckpointData,
  lane: number,
  writer: ValueWriter,
): AgentRecord[] {
  const parameters = modelParameters && writer.value(modelParameters, "the model parameters");
  const settings = { kind: "settings", lane, model, tools, ...(parameters !== undefined && { parameters }) } as const;
  return same(state?.settings, settings) ? [] : [settings];
}

function requirementsRecords(
  state: AgentState | undefined,
  { recoveryInfo: { requiredContext, environment, workingDirectory, fileHashes } }: AgentCheckpointData,
  lane: number,
): AgentRecord[] {
  const requirements = withoutUndefined({
    kind: "requirements",
    lane,
    files: requiredContext,
    environment,
    directory: workingDirectory,
    // A custom storage may give null for what is absent.
    hashes: fileHashes ?? undefined,
  });
  return same(recoveryInfo("", state?.requirements), recoveryInfo("", requirements)) ? [] : [requirements];
}

function structureRecords(
  state: AgentState | undefined,
  { strategyFingerprint: fingerprint }: AgentCheckpointData,
  lane: number,
): AgentRecord[] {
  if (fingerprint === undefined || fingerprint === state?.structure?.fingerprint) return [];
  return [{ kind: "structure", lane, fingerprint }];
}

function decisionRecord({ decision, reason, nodeId, decidedAt }: CheckpointDecision, lane: number): AgentRecord {
  return withoutUndefined({ kind: "decision", lane, at: Date.parse(decidedAt), node: nodeId, decision, reason });
}

function storageChanges(
  state: AgentState | undefined,
  data: AgentCheckpointData,
  reader: ValueReader,
): Map<string, { readonly value: unknown } | undefined> {
  const changes = new Map<string, { readonly value: unknown } | undefined>();
  const before = new Map([...(state?.storage ?? [])].map(([key, slot]) => [key, reader.read(slot)]));
  for (const [key, value] of Object.entries(data.storage))
    if (!before.has(key) || !same(before.get(key), value)) changes.set(key, { value });
  for (const key of before.keys()) if (!Object.hasOwn(data.storage, key)) changes.set(key, undefined);
  return changes;
}

function callRecords(
  calls: readonly CheckpointToolCall[],
  lane: number,
  visit: Visit,
  writer: ValueWriter,
): AgentRecord[] {
  return calls.map((call, ordinal) => {
    const base = {
      kind: "outcome",
      lane,
      visit,
      call: call.toolCallId,
      tool: call.toolName,
      effect: call.effect,
      node: "",
      input: writer.value(call.input, `the input of tool ${call.toolName}`),
      ordinal,
    } as const;
    if (call.status === "failed") return { ...base, error: { message: call.error ?? "" } };
    if (call.status === "moved") return { ...base, moved: true };
    if (call.status === "unknown") return { ...base, unknown: true };
    if (call.status === "lost") return { ...base, lost: { path: "", reason: "could not be stored" } };
    return { ...base, output: writer.value(call.output, `the output of tool ${call.toolName}`) };
  });
}

function revertRecords({ revertedToolCallIds: calls = [] }: AgentCheckpointData, target: number): AgentRecord[] {
  if (calls.length === 0) return [];
  return [
    { kind: "rollback", target, calls, closed: calls },
    ...calls.map((call) => ({ kind: "reverted", call }) as const),
  ];
}

function checkpointRecord(data: AgentCheckpointData, lane: number, writer: ValueWriter): AgentRecord {
  return withoutUndefined({
    kind: "checkpoint",
    lane,
    version: data.version,
    id: data.checkpointId,
    at: Date.parse(data.createdAt),
    node: data.nodeId,
    input: writer.value(data.lastInput, `the input of node ${JSON.stringify(data.nodeId)}`),
    inputType: data.lastInputType,
    unresolved: data.unresolved === true ? true : undefined,
    visit: data.visit,
    iteration: data.iteration,
    progress: data.progress,
    summary: data.progressSummary,
    status: data.status === "in_progress" ? undefined : data.status,
    move: data.move ?? undefined,
    trigger: data.trigger,
    standing: data.standingToolCallIds ?? undefined,
  });
}

/** Whether two values are equal in their stored form. It may say no for equal rich values: they are then stored again. */
function same(a: unknown, b: unknown): boolean {
  return a === b || (plainJson(a) && plainJson(b) && JSON.stringify(a) === JSON.stringify(b));
}

function plainJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (Array.isArray(value) || prototype === Object.prototype || prototype === null) &&
    Object.values(value).every(plainJson)
  );
}
