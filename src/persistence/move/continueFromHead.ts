import { historyRecords } from "../../checkpoint/format/changeRecords.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { type AgentState, foldTo, visitAt } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { CheckpointNotFoundError } from "../../errors/checkpoint/CheckpointNotFoundError.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";

/** How the agent is to go on. */
export interface ExecutionPoint {
  /** Absent: the node that runs next anyhow, with its input. */
  readonly to?: { readonly node: string; readonly input: unknown };
  /** `undefined`: those that there are. */
  readonly messages: readonly Message[] | undefined;
  readonly move: CheckpointRecord["move"] & string;
  readonly pauseReason: string;
}

/**
 * Begins a line at the head, with a checkpoint of its own, and pauses the agent there. Durable when it resolves.
 *
 * @throws CheckpointNotFoundError when there is no head.
 */
export async function continueFromHead(journal: Journal, log: AgentLog, point: ExecutionPoint): Promise<void> {
  const head = log.index.latest;
  const state = head && foldTo(log.index, head);
  if (!head || !state) throw new CheckpointNotFoundError(journal.agentId, undefined, []);
  const { run, reopens } = runAt(head, log.index);
  const records = lineFromHead(journal, log.reader(state), { head, state }, point);
  journal.append(reopens ? [run, ...records] : records);
  // In the same turn of the event loop, so in the same append.
  const paused = { status: "paused", at: journal.clock.now(), reason: point.pauseReason } as const;
  journal.append(statusRecords(journal.statusState, paused));
  await journal.durable();
}

function lineFromHead(
  journal: Journal,
  reader: ValueReader,
  { head, state }: { readonly head: CheckpointPoint; readonly state: AgentState },
  point: ExecutionPoint,
): readonly AgentRecord[] {
  const history = new MessageHistory(
    state.history.map(({ number, message }) => ({ number, message: reader.message(message) })),
    journal.nextNumber,
  );
  const { messages } = point;
  if (messages) history.rewrite(() => messages);
  const lane = journal.nextLane++;
  const version = journal.nextVersion++;
  const { iteration, progress, summary, inputType, unresolved } = head.record;
  const stays = point.to === undefined;
  const { node, input } = point.to ?? { node: head.record.node, input: reader.read(head.record.input) };
  const start: LaneRecord = { kind: "lane", lane, from: head.version, keep: "all" };
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at: journal.clock.now(),
    node,
    input: journal.writer.input(input, `the input of node "${node}"`, (message) => history.numberOf(message)),
    ...(stays && inputType !== undefined && { inputType }),
    ...(stays && unresolved && { unresolved }),
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { summary }),
    move: point.move,
  };
  return [start, ...historyRecords(history.takeChanges(), lane, journal.writer), checkpoint];
}

/** A line that begins at a checkpoint, with a checkpoint of its own, so that the latest is always the head. */
export interface Branch {
  readonly lane: number;
  readonly run: RunRecord;
  readonly records: readonly AgentRecord[];
  readonly head: { readonly version: number; readonly id: string };
}

/** The records that go back to a checkpoint, or branch off from it: what runs next there runs next here. */
export function branchFrom(
  target: CheckpointPoint,
  move: "rollback" | "branch",
  run: RunRecord,
  reopens: boolean,
  journal: Journal,
): Branch {
  const lane = journal.nextLane++;
  const version = journal.nextVersion++;
  const { node, input, inputType, unresolved, iteration, progress, summary, branches } = target.record;
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at: journal.clock.now(),
    node,
    input,
    ...(inputType !== undefined && { inputType }),
    ...(unresolved && { unresolved }),
    visit: visitAt(target),
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { summary }),
    ...(branches && { branches }),
    move,
  };
  const start: LaneRecord = { kind: "lane", lane, from: target.version, keep: "all" };
  return {
    lane,
    run,
    records: [...(reopens ? [run] : []), start, checkpoint],
    head: { version, id: `${journal.generation}-${version}` },
  };
}

/** The run that a line from a checkpoint belongs to: the checkpoint's own, which goes on if it had ended. */
export function runAt(
  target: CheckpointPoint,
  index: LogProjection,
): { readonly run: RunRecord; readonly reopens: boolean } {
  const run = index.runRecords.get(target.runId) ?? {
    kind: "run",
    run: target.runId,
    input: null,
    at: target.record.at,
  };
  return { run, reopens: index.run?.run !== target.runId || !index.unfinished };
}
