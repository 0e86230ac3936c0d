import { openLaneOf } from "../../checkpoint/lines/openLaneOf.ts";
import { historyRecords } from "../../checkpoint/format/changeRecords.ts";
import { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LanePlace, LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { type AgentState, visitAt } from "../../checkpoint/state/AgentState.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { checkpointAt } from "../../journal/runRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { changedStructure } from "../record/strategyRecord.ts";
import { laneForNode } from "./laneForNode.ts";
import type { ExecutionPoint } from "./setExecutionPoint.ts";

/** Where the agent continues: an {@link ExecutionPoint}, or other messages for the node that runs next. */
export type NextPoint = (ExecutionPoint | Required<Pick<ExecutionPoint, "messageHistory">>) & {
  readonly move: "execution_point" | "rollback";
  readonly pauseReason: string;
  /** The agent of the node, whose code is recorded. The stored code stays if omitted. */
  readonly setup?: PersistenceSetup;
};

/**
 * Starts a lane at the head of the line that may visit the node. The lane gets a checkpoint, and the agent is paused
 * there. Durable when it resolves.
 *
 * @throws CheckpointNotFoundError if the agent has no head.
 */
export async function continueFromHead(journal: Journal, log: AgentLog, point: NextPoint): Promise<void> {
  const { head, state } = headFor(log, point);
  const { run, reopens } = runAt(head, log.index);
  const reader = log.reader(state);
  const history = new MessageHistory(
    state.history.map(({ number, message }) => ({ number, message: reader.message(message) })),
    journal.numbers,
  );
  const { messageHistory } = point;
  if (messageHistory) history.rewrite(() => messageHistory);
  const lane = journal.nextLane++;
  const { iteration, progress, summary } = head.record;
  const { node, input, ...kept } = nextAt(point, head, () => reader.read(state.checkpoint?.record.input));
  const checkpoint = checkpointAt(journal, lane, {
    node,
    input: journal.writer.input(input, `the input of node "${node}"`, lane, (message) => history.numberOf(message)),
    ...kept,
    iteration,
    progress,
    summary,
    move: point.move,
  });
  const changes = historyRecords(history.takeChanges(), lane, journal.writer);
  const structure = point.setup ? changedStructure(point.setup, state, lane, journal) : [];
  journal.append([
    ...(reopens ? [run] : []),
    laneFrom(head.version, lane, log.index.lanes.get(head.record.lane)?.record.place),
    ...structure,
    ...changes,
    checkpoint,
  ]);
  const paused = { status: "paused", at: journal.clock.now(), reason: point.pauseReason } as const;
  await journal.store(statusRecords(journal.statusState, paused));
}

function headFor(
  { index, agentId }: AgentLog,
  point: NextPoint,
): { readonly head: CheckpointPoint; readonly state: AgentState } {
  const { setup } = point;
  const lane = setup && "node" in point ? laneForNode(index, setup.graph, point.node) : index.lines.mainLane;
  const head = index.latestOf(lane) ?? index.latest;
  const state = head && foldTo(index, head);
  if (!head || !state) throw new CheckpointNotFoundError(agentId, undefined, []);
  return { head, state };
}

function nextAt(
  point: NextPoint,
  { record: { node, inputType, unresolved, joined } }: CheckpointPoint,
  readInput: () => unknown,
): Pick<ExecutionPoint, "node" | "input"> & Pick<CheckpointRecord, "inputType" | "unresolved" | "joined"> {
  if ("node" in point) return { node: point.node, input: point.input };
  return { node, input: readInput(), ...withoutUndefined({ inputType, unresolved, joined }) };
}

/**
 * A lane that starts at a checkpoint. The lane gets a new checkpoint, so that the latest checkpoint is always the head.
 */
export interface Branch {
  readonly lane: number;
  readonly records: readonly AgentRecord[];
  readonly head: { readonly version: number; readonly id: string };
}

interface Continuation {
  readonly index: LogProjection;
  readonly run: RunRecord;
  readonly reopens: boolean;
  readonly journal: Journal;
}

export function branchFrom(
  target: CheckpointPoint,
  move: "rollback" | "branch",
  { index, run, reopens, journal }: Continuation,
): Branch {
  const place = index.lanes.get(openLaneOf(index, target.record.lane) ?? target.record.lane)?.record.place;
  const lane = journal.nextLane++;
  const { node, input, inputType, unresolved, iteration, progress, summary, joined } = target.record;
  const visit = visitAt(target);
  const point = { node, input, inputType, unresolved, visit, iteration, progress, summary, joined, move };
  const checkpoint = checkpointAt(journal, lane, point);
  const { version } = checkpoint;
  return {
    lane,
    records: [...(reopens ? [run] : []), laneFrom(target.version, lane, place), checkpoint],
    head: { version, id: `${journal.generation}-${version}` },
  };
}

function laneFrom(from: number, lane: number, place: LanePlace | undefined): LaneRecord {
  return { kind: "lane", lane, from, keep: "all", ...(place && { place }) };
}

/**
 * Returns the run of a lane that starts at a checkpoint. It is the checkpoint's run, which continues even if finished.
 */
export function runAt(
  { runId, record }: CheckpointPoint,
  index: LogProjection,
): { readonly run: RunRecord; readonly reopens: boolean } {
  const run = index.runRecords.get(runId) ?? { kind: "run", run: runId, input: null, at: record.at };
  return { run, reopens: index.run?.run !== runId || !index.unfinished };
}
