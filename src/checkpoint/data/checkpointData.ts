import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type AgentState, visitAt } from "../state/AgentState.ts";
import { stateAt } from "../state/foldTo.ts";
import type { CheckpointRecord, CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { type BlobTexts, ValueReader } from "../state/ValueReader.ts";
import { formatVersion } from "../records/Entry.ts";
import type { Message } from "../messages/Message.ts";
import {
  type AgentCheckpointData,
  type CheckpointBranch,
  checkpointDecisions,
  recoveryInfo,
} from "./AgentCheckpointData.ts";
import { type FileChanges, fileChangesIn, fileNoteKey, summarizeFileChanges } from "./FileChange.ts";
import { linePath } from "./linePath.ts";
import { RequestedCalls, checkpointToolCall } from "./RequestedCalls.ts";
import { isOpenAt, laneAt, type NestedLine } from "../lines/Lines.ts";

interface CheckpointLog {
  readonly agentId: string;
  readonly index: LogProjection;
  readonly blobs: BlobTexts;
  checksumOf(point: CheckpointPoint): string;
}

/** Returns the checkpoints of all lines or of the main line, oldest first, with the fields that filters use. */
export function pointsIn({ checkpoints, lines }: LogProjection, isMainLine = false) {
  return [...checkpoints.values()].flatMap((point) => {
    const { version, record } = point;
    return isMainLine && lines.nestedLine(record.lane) ? [] : { point, version, nodeId: record.node };
  });
}

/** Builds the data of a checkpoint. Large fields are built when they are first read. */
export function checkpointData(log: CheckpointLog, point: CheckpointPoint): AgentCheckpointData {
  const { agentId, index, blobs } = log;
  const { record } = point;
  const reverted = index.closedBy.get(point.version);
  const opened = once(() => open(index, point, blobs));
  const nested = nestedLinesAt(index, point);
  const data = withoutUndefined({
    checkpointId: point.id,
    name: index.names.nameOf(point.version),
    agentId,
    runId: point.runId,
    parentId: index.parentIdOf(point),
    version: point.version,
    createdAt: new Date(record.at).toISOString(),
    nodeId: record.node,
    ...linePath(index, record.lane),
    lastInputType: record.inputType,
    unresolved: record.unresolved,
    joined: record.joined === undefined ? undefined : index.checkpoints.get(record.joined)?.id,
    iteration: record.iteration,
    usage: record.usage,
    status: record.status ?? (record.ended ? "completed" : "in_progress"),
    progress: record.progress,
    progressSummary: record.summary,
    revertedToolCallIds: reverted?.length === 0 ? undefined : reverted,
    move: record.move,
    ...originsOf(record),
    formatVersion,
    checksum: log.checksumOf(point),
  });
  const run = isFirstOfRun(index, point) ? index.runRecords.get(point.runId) : undefined;
  return lazily(data, {
    ...(run && !run.assumed && { runInput: () => opened().reader.read(run.input) }),
    lastInput: () => inputOf(opened()),
    ...(nested.length > 0 && { branches: () => Object.freeze(nested.map((line) => branchData(index, line, blobs))) }),
    messageHistory: () => historyOf(opened()),
    storage: () => Object.freeze(Object.fromEntries(opened().reader.storage())),
    // A checkpoint without a model was imported and has an empty name.
    model: () => opened().state.settings?.model || undefined,
    modelParameters: () => opened().reader.read(opened().state.settings?.parameters),
    tools: () => opened().state.settings?.tools ?? [],
    toolCalls: () => toolCallsSince(index, point, opened()),
    fileChanges: () => fileChangesSince(index, point, opened()),
    decisions: () => checkpointDecisions(opened().state.decisions),
    recoveryInfo: () => recoveryInfo(record.node, opened().state.requirements),
    strategyFingerprint: () => opened().state.structure?.fingerprint,
  }) as unknown as AgentCheckpointData;
}

function originsOf(record: CheckpointRecord) {
  return {
    ...editDetails(record),
    trigger: record.trigger,
    visit: record.visit,
    standingToolCallIds: record.standing,
  };
}

export function editDetails({ by, reason }: CheckpointRecord): Pick<AgentCheckpointData, "by" | "reason"> {
  return by === undefined ? {} : withoutUndefined({ by, reason });
}

function isFirstOfRun(index: LogProjection, { parent, runId }: CheckpointPoint): boolean {
  return parent === undefined || index.checkpoints.get(parent)?.runId !== runId;
}

function branchData(index: LogProjection, { point, ...shown }: NestedLineAt, blobs: BlobTexts): CheckpointBranch {
  const opened = once(() => open(index, point, blobs));
  return lazily(shown, {
    lastInput: () => inputOf(opened()),
    messageHistory: () => historyOf(opened()),
    ...(point.record.ended && { output: () => inputOf(opened()) }),
  }) as CheckpointBranch;
}

function inputOf({ state, reader }: Opened): unknown {
  return reader.read(state.checkpoint?.record.input);
}

function historyOf({ state, reader }: Opened): readonly Message[] {
  return Object.freeze(state.history.map(({ message }) => reader.message(message)));
}

interface Opened {
  readonly state: AgentState;
  readonly reader: ValueReader;
}

function open(index: LogProjection, point: CheckpointPoint, blobs: BlobTexts): Opened {
  const state = stateAt(index, point);
  return { state, reader: new ValueReader(state, blobs) };
}

function toolCallsSince(index: LogProjection, point: CheckpointPoint, { state, reader }: Opened): unknown {
  const isSince = sinceParent(index, point);
  const calls = [...state.calls.values()].filter((call) => call.outcome && isSince(call));
  const answers = [...state.answers.values()].map((record) => ({ record, order: -1 }));
  const requested = new RequestedCalls(answers, reader);
  return calls.sort((a, b) => a.order - b.order).flatMap((call) => checkpointToolCall(call, requested, reader) ?? []);
}

function fileChangesSince(index: LogProjection, point: CheckpointPoint, { reader }: Opened): FileChanges {
  const isSince = sinceParent(index, point);
  const notes = index.notes
    .filter(isSince)
    .filter(({ record }) => record.key === fileNoteKey && record.lane === point.record.lane);
  return summarizeFileChanges(notes.flatMap(({ record }) => fileChangesIn(reader.read(record.value))));
}

function sinceParent({ checkpoints }: LogProjection, point: CheckpointPoint) {
  const from = checkpoints.get(point.parent ?? -1)?.order ?? -1;
  return ({ order }: { readonly order: number }): boolean => order > from && order < point.order;
}

function lazily(target: object, members: Readonly<Record<string, () => unknown>>): object {
  for (const [name, compute] of Object.entries(members)) {
    Object.defineProperty(target, name, { enumerable: true, configurable: false, get: once(compute) });
  }
  return target;
}

function once<Value>(compute: () => Value): () => Value {
  let computed: { readonly value: Value } | undefined;
  return () => (computed ??= { value: compute() }).value;
}

interface NestedLineAt extends Pick<CheckpointBranch, "path" | "nodeId" | "status"> {
  readonly point: CheckpointPoint;
}

/** Returns the branches and sub-agents that were open at a checkpoint, in start order. */
function nestedLinesAt(index: LogProjection, point: CheckpointPoint): readonly NestedLineAt[] {
  const { lane } = point.record;
  return nestedAt(index, lane, index.latestOf(lane)?.version === point.version ? Infinity : point.order);
}

function nestedAt(index: LogProjection, lane: number, upTo: number): readonly NestedLineAt[] {
  return index.lines.childrenOf(lane).flatMap((line) => {
    const point = isOpenAt(line, upTo) ? latestAt(index, laneAt(line, upTo) ?? 0, upTo) : undefined;
    return point
      ? [{ path: pathOf(index, line), nodeId: point.record.node, status: statusAt(index, point, upTo), point }]
      : [];
  });
}

/** Returns the newest checkpoint of a lane up to an order, which is the number of a record in the log. */
export function latestAt(index: LogProjection, lane: number, upTo: number): CheckpointPoint | undefined {
  const { laneRecords, checkpoints, base } = index;
  if (upTo === Infinity) return index.latestOf(lane);
  const records = laneRecords.get(lane) ?? [];
  const found = records.findLast(({ record, order }) => record.kind === "checkpoint" && order <= upTo)?.record;
  if (found?.kind === "checkpoint") return checkpoints.get(found.version);
  return base?.state.lane === lane ? base.state.checkpoint : undefined;
}

function pathOf(index: LogProjection, { lane, place }: NestedLine): string {
  const { branch, agentPath } = linePath(index, lane);
  return "branch" in place ? (branch ?? place.branch) : (agentPath.at(-1) ?? "");
}

function statusAt(index: LogProjection, point: CheckpointPoint, upTo: number): CheckpointBranch["status"] {
  if (point.record.ended) return "completed";
  if (asksAt(index, point, upTo)) return "waiting";
  const within = nestedAt(index, point.record.lane, upTo).map(({ status }) => status);
  return within.includes("waiting") && !within.includes("in_progress") ? "waiting" : "in_progress";
}

function asksAt({ base, laneRecords }: LogProjection, point: CheckpointPoint, upTo: number): boolean {
  const [visit] = visitAt(point);
  const open = new Set<string>();
  const known = base?.state.lane === point.record.lane ? base.state.requests.values() : [];
  for (const { record, reply } of known) if (!reply && record.visit[0] === visit) open.add(record.request);
  for (const { record, order } of laneRecords.get(point.record.lane) ?? []) {
    if (order > upTo) break;
    if (record.kind === "request" && record.visit[0] === visit) open.add(record.request);
    else if (record.kind === "reply") open.delete(record.request);
  }
  return open.size > 0;
}
