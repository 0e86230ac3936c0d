import { CheckpointExistsError } from "../../errors/checkpoint/CheckpointExistsError.ts";
import type { AgentCheckpointData, CheckpointToolCall } from "./AgentCheckpointData.ts";
import { emptyState, firstVisitOf, foldTo, visitAt, type AgentState } from "../state/AgentState.ts";
import { historyRecords, storageRecords } from "../format/changeRecords.ts";
import type { CheckpointPoint, LogProjection } from "../state/LogProjection.ts";
import { MessageHistory } from "../messages/MessageHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { Visit } from "../records/Visit.ts";
import type { LaneRecord } from "../records/lineRecords.ts";
import { recoveryInfo } from "./checkpointData.ts";
import { ValueReader, type BlobTexts } from "../state/ValueReader.ts";
import type { ValueWriter } from "../format/ValueWriter.ts";

/**
 * The records that add a whole checkpoint to a log: what differs from its parent, then the checkpoint. For storages that
 * keep checkpoints rather than records, and for checkpoints that come from outside a run.
 *
 * @throws CheckpointExistsError when its id is taken or its version is not above the last.
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
  const newRun = parent === undefined || parent.runId !== data.runId;
  const goesOn = parent !== undefined && !newRun && index.latest === parent && staysOnLine(parent, data);
  const lane = goesOn ? parent.record.lane : index.nextLane;
  const before = newRun ? undefined : state;
  const target = parent?.version ?? 0;
  return [
    ...(newRun ? [runRecord(data, writer)] : reopening(parent, data, index)),
    ...(goesOn ? [] : [laneRecord(lane, parent?.version, newRun)]),
    ...revertRecords(data, target),
    ...changesFrom(before, data, lane, new ValueReader(before ?? emptyState, blobs), index.nextNumber, writer),
    ...callRecords(data.toolCalls, lane, parent ? visitAt(parent) : firstVisitOf(lane), writer),
    checkpointRecord(data, lane, writer),
    ...(reverts(data) ? [{ kind: "rollback_end", target } as const] : []),
  ];
}

/** A move begins a line of its own, and so does what goes on after an end. */
function staysOnLine(parent: CheckpointPoint, { move }: AgentCheckpointData): boolean {
  return parent.record.status === undefined && move === undefined;
}

function runRecord(data: AgentCheckpointData, writer: ValueWriter): AgentRecord {
  const known = "runInput" in data;
  const input = writer.value(known ? data.runInput : data.lastInput, "the input of the run");
  return { kind: "run", run: data.runId, input, at: Date.parse(data.createdAt), ...(!known && { assumed: true }) };
}

/** A run that had ended, or that another had followed, goes on: it was rolled back. */
function reopening(parent: CheckpointPoint, { runId }: AgentCheckpointData, index: LogProjection): AgentRecord[] {
  const run = index.runRecords.get(runId);
  if (run === undefined || (index.run?.run === runId && index.unfinished)) return [];
  const kept = parent.record.status === undefined ? parent.version : parent.version - 1;
  return [{ kind: "rollback_end", target: kept }, run];
}

function laneRecord(lane: number, from: number | undefined, newRun: boolean): LaneRecord {
  return { kind: "lane", lane, ...(from !== undefined && { from }), keep: newRun ? "nothing" : "all" };
}

function reverts({ revertedToolCallIds }: AgentCheckpointData): boolean {
  return (revertedToolCallIds?.length ?? 0) > 0;
}

function assertNew({ agentId, checkpointId, version }: AgentCheckpointData, index: LogProjection): void {
  if (index.byId(checkpointId))
    throw new CheckpointExistsError(agentId, checkpointId, "a checkpoint with this id is there already");
  if (version < index.nextVersion) {
    throw new CheckpointExistsError(
      agentId,
      checkpointId,
      `its version ${version} is not above the last, ${index.nextVersion - 1}`,
    );
  }
}

function changesFrom(
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
  const settings = {
    kind: "settings" as const,
    lane,
    model: data.model ?? "",
    tools: data.tools,
    ...(data.modelParameters && { parameters: writer.value(data.modelParameters, "the model parameters") }),
  };
  const { requiredContext: files, environment, workingDirectory: directory, fileHashes: hashes } = data.recoveryInfo;
  const requirements = {
    kind: "requirements",
    lane,
    files,
    environment,
    ...(directory !== undefined && { directory }),
    ...(hashes && { hashes }),
  } as const;
  return [
    ...historyRecords(history.takeChanges(), lane, writer),
    ...storageRecords(storageChanges(state, data, reader), lane, writer),
    ...(same(state?.settings, settings) ? [] : [settings]),
    ...(same(recoveryInfo("", state?.requirements), recoveryInfo("", requirements)) ? [] : [requirements]),
    ...(data.strategyFingerprint === undefined || data.strategyFingerprint === state?.structure?.fingerprint
      ? []
      : [{ kind: "structure", lane, fingerprint: data.strategyFingerprint } as const]),
    ...data.decisions.slice(state?.decisions.length ?? 0).map(
      ({ decision, reason, nodeId, decidedAt }) =>
        ({
          kind: "decision",
          lane,
          at: Date.parse(decidedAt),
          node: nodeId,
          decision,
          ...(reason !== undefined && { reason }),
        }) as const,
    ),
  ];
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
  return {
    kind: "checkpoint",
    lane,
    version: data.version,
    id: data.checkpointId,
    at: Date.parse(data.createdAt),
    node: data.nodeId,
    input: writer.value(data.lastInput, `the input of node ${JSON.stringify(data.nodeId)}`),
    ...(data.lastInputType !== undefined && { inputType: data.lastInputType }),
    ...(data.unresolved === true && { unresolved: true }),
    ...(data.visit && { visit: data.visit }),
    iteration: data.iteration,
    ...(data.progress !== undefined && { progress: data.progress }),
    ...(data.progressSummary !== undefined && { summary: data.progressSummary }),
    ...(data.status !== "in_progress" && { status: data.status }),
    ...(data.move && { move: data.move }),
    ...(data.trigger !== undefined && { trigger: data.trigger }),
    ...(data.standingToolCallIds && { standing: data.standingToolCallIds }),
  };
}

/** Equal as stored values: what JSON cannot tell apart is written again, which costs bytes and is never wrong. */
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
