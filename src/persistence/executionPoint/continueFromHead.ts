import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { historyRecords } from "../../checkpoint/format/ValueWriter.ts";
import { openLaneOf } from "../../checkpoint/lines/lineage.ts";
import { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { beginLine } from "../../checkpoint/moment/beginLine.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { linesAt, type LinesAt } from "../../checkpoint/moment/linesAt.ts";
import { type NewLines, newLines, type NewLinesOptions } from "../../checkpoint/moment/newLines.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { quotedList } from "../../errors/AgentPersistenceError.ts";
import { UnknownNodeError } from "../../errors/strategyErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { CheckpointHead } from "../saving/checkpointRecord.ts";
import { changedStructure } from "../saving/strategyRecord.ts";
import { giveBackEvents } from "../waiting/journalReceipt.ts";
import type { ExecutionPoint } from "./executionPoint.ts";

/** Where the agent continues: at an {@link ExecutionPoint}, or at the next node with other messages. */
type NextPoint = (ExecutionPoint | Required<Pick<ExecutionPoint, "messageHistory">>) & {
  readonly move: "execution_point" | "rollback";
  readonly pauseReason: string;
};

/**
 * Starts a new lane for the run or branch that can run the node, and pauses the agent. Durable when it resolves.
 *
 * @throws CheckpointNotFoundError
 */
export async function continueFromHead(
  setup: PersistenceSetup,
  journal: Journal,
  log: AgentLog,
  point: NextPoint,
): Promise<void> {
  const { head, state } = headFor(setup.graph, log, point);
  await giveBackEvents(setup, { log });
  const { run, reopens } = runAt(head, log.index);
  const reader = log.reader(state);
  const history = new MessageHistory(reader.history(), journal.numbers);
  const { messageHistory } = point;
  if (messageHistory) history.rewrite(() => messageHistory);
  const lane = journal.nextLane++;
  const begins = "node" in point;
  const { node } = begins ? point : head.record;
  const next = begins ? point.input : reader.read(state.checkpoint?.record.input);
  const input = journal.writer.input(next, `the input of node "${node}"`, lane, (message) => history.numberOf(message));
  const records = historyRecords(history.takeChanges(), lane, journal.writer);
  if (begins) records.unshift(...currentCode(setup, state, lane, journal));
  const { place } = log.index.lanes.get(head.record.lane)?.record ?? {};
  const begun = begins && { inputType: undefined, unresolved: undefined, joined: undefined };
  const checkpoint = { node, input, visit: undefined, ...begun };
  const start = { lane, point: head, place, move: point.move };
  journal.append([...(reopens ? [run] : []), ...beginLine(journal, start, { records, checkpoint })]);
  const paused = { status: "paused", at: journal.clock.now(), reason: point.pauseReason } as const;
  await journal.store(statusRecords(journal.statusState, paused));
}

/** Returns records of the current code and of the new names of the offered tools, because no migration follows. */
export function currentCode(
  setup: PersistenceSetup,
  state: AgentState,
  lane: number,
  journal: Journal,
): readonly AgentRecord[] {
  const { settings, structure } = state;
  const records = changedStructure(setup, state, lane, journal);
  if (!settings) return records;
  const tools = settings.tools.map((name) => setup.migrations.toolNow(name, structure?.version ?? 0));
  return isSameValue(tools, settings.tools) ? records : [...records, { ...settings, lane, tools }];
}

function headFor(
  graph: StrategyGraph,
  { index, agentId }: AgentLog,
  point: NextPoint,
): { readonly head: CheckpointPoint; readonly state: AgentState } {
  const lane = "node" in point ? laneForNode(index, graph, point.node) : index.lines.mainLane;
  const head = index.latestOf(lane) ?? index.latest;
  const state = head && foldTo(index, head);
  if (!head || !state) throw new CheckpointNotFoundError(agentId, undefined, []);
  return { head, state };
}

/** Restarts a run, branch or sub-agent at a checkpoint, with a new checkpoint and the records of `changes`. */
export function restartLine(
  journal: Journal,
  { index, point }: { readonly index: LogProjection; readonly point: CheckpointPoint },
  move: "rollback" | "branch",
  changes: (lane: number) => readonly AgentRecord[] = () => [],
): { readonly lane: number; readonly records: readonly AgentRecord[]; readonly head: CheckpointHead } {
  const place = index.lanes.get(openLaneOf(index, point.record.lane) ?? point.record.lane)?.record.place;
  const lane = journal.nextLane++;
  const version = journal.nextVersion;
  const records = beginLine(journal, { lane, point, place, move }, { records: changes(lane) });
  return { lane, records, head: { version, id: `${journal.generation}-${version}` } };
}

/** Returns the run that a new lane from this checkpoint continues, even if the run has finished. */
export function runAt(
  { runId, record }: CheckpointPoint,
  index: LogProjection,
): { readonly run: RunRecord; readonly reopens: boolean } {
  const run = index.runRecords.get(runId) ?? { kind: "run", run: runId, input: null, at: record.at };
  return { run, reopens: index.run?.run !== runId || !index.unfinished };
}

/** Returns the lane of the open run or branch that can run a node. @throws UnknownNodeError, InvalidInputError */
function laneForNode(index: LogProjection, graph: StrategyGraph, node: string): number {
  const root = graph.lineOf(node);
  const { lines } = index;
  if (root === "") return lines.mainLane;
  const open = lines.openLanes.filter((lane) => !index.latestOf(lane)?.record.ended);
  const roots = new Map(open.map((lane) => [lane, rootOf(index, graph, lane)]));
  const [only, ...others] = open.filter((lane) => roots.get(lane) === root);
  if (only === undefined) {
    const visited = new Set(roots.values());
    throw new UnknownNodeError(
      node,
      graph.nodePaths.filter((path) => visited.has(graph.lineOf(path))),
      false,
      parallelOf(graph, root),
    );
  }
  if (others.length === 0) return only;
  const branches = [only, ...others].map((lane) => linePath(index, lane).branch ?? "");
  const expected = `the node is in the open branches ${quotedList(branches)}. Set the point within one of these branches`;
  throw new InvalidInputError("execution point", [{ path: "nodeId", expected }]);
}

function parallelOf(graph: StrategyGraph, branch: string): string | undefined {
  return graph.nodePaths.find((path) => {
    if (graph.node(path).kind !== "parallel") return false;
    const branches = graph.branchesOf(path);
    return branches.kind === "each" ? branches.node === branch : [...branches.nodes.values()].includes(branch);
  });
}

/** Returns the node path of a branch, or "" for the run and for sub-agents. `undefined` if the strategy has none. */
export function rootOf(index: LogProjection, graph: StrategyGraph, lane: number): string | undefined {
  const place = index.lines.nestedLine(lane)?.place;
  if (!place || "call" in place) return "";
  const forked = "fork" in place ? index.checkpoints.get(place.fork)?.record.node : undefined;
  if (forked === undefined || !("branch" in place) || !graph.nodePaths.includes(forked)) return undefined;
  if (graph.node(forked).kind !== "parallel") return undefined;
  const branches = graph.branchesOf(forked);
  return branches.kind === "each" ? branches.node : branches.nodes.get(place.branch);
}

/** Returns the state of all branches and sub-agents at a checkpoint. `undefined` if only the run itself was open. */
export function linesBeside({ index }: AgentLog, target: CheckpointPoint): LinesAt | undefined {
  const found = linesAt(index, target);
  return found.lines.length === 1 && found.own?.point === target ? undefined : found;
}

/** Returns the records that restart everything that was open at a checkpoint. @throws UnreadableValueError */
export function restartLines(
  journal: Journal,
  log: AgentLog,
  lines: LinesAt,
  options: Pick<NewLinesOptions, "move" | "runId" | "change">,
): NewLines {
  const { agentId, nextLane, nextVersion, clock, usage, sha256 } = journal;
  const begun = newLines(log.index, lines, {
    ...options,
    agentId,
    nextLane,
    nextVersion,
    at: clock.now(),
    usage,
    sha256,
    reader: (state) => log.reader(state),
  });
  journal.nextLane = begun.nextLane;
  journal.nextVersion = begun.nextVersion;
  return begun;
}

export function statesOf({
  lines,
}: NewLines): readonly [main: AgentState | undefined, ReadonlyMap<number, AgentState>] {
  const [main, ...nested] = [...lines].map(([lane, { state }]) => [lane, state] as const);
  return [main?.[1], new Map(nested)];
}

/** Returns the run that continues from a checkpoint. If that run has finished, the branch is a new run. */
export function branchRun({ clock }: Journal, { index }: AgentLog, target: CheckpointPoint) {
  const { run, reopens } = runAt(target, index);
  return { reopens, run: reopens ? { ...run, run: crypto.randomUUID(), at: clock.now() } : run };
}
