import type { BranchResult } from "../../agent/feature/RunRequest.ts";
import { storedResult } from "../../agent/feature/storedResult.ts";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import { linesTo } from "../../checkpoint/lines/lineage.ts";
import type { LineAt } from "../../checkpoint/moment/linesAt.ts";
import type { LanePlace, CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import { BranchChanges, joinedBranches } from "../../checkpoint/state/BranchChanges.ts";
import { foldTo, stateAt } from "../../checkpoint/state/foldTo.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedState } from "./Recording.ts";

export interface LinePosition {
  readonly lane: number;
  readonly place?: LanePlace;
  readonly line: RunLine;
  readonly visit: Visit;
  readonly nodeId: string;
  readonly input: unknown;
  readonly unresolved?: true;
  readonly state: RecordedState;
  /** The results of the branches that the next node merges. */
  readonly joined?: ReadonlyMap<string, BranchResult>;
  /** The result of a finished branch. */
  readonly ended?: BranchResult;
}

/** Returns the positions of open lines with a checkpoint. Lines without a checkpoint start from their beginning. */
export function readStart(log: AgentLog, lines: readonly LineAt[]): readonly LinePosition[] {
  return lines.flatMap((line) => positionOf(log, line) ?? []);
}

function positionOf(log: AgentLog, { lane, point }: LineAt): LinePosition | undefined {
  const { index, agentId } = log;
  const state = point && foldTo(index, point);
  if (!point || !state) return undefined;
  const [line = { agentId, runId: point.runId, lane }] = linesTo(index, agentId, lane);
  const place = index.lanes.get(lane)?.record.place;
  const { node: nodeId, unresolved, ended } = state.checkpoint?.record ?? point.record;
  const input = log.reader(state).read(state.checkpoint?.record.input);
  const recorded = recordedStateAt(log, point);
  const nested = index.lines.nestedLine(lane);
  const result = ended && nested && resultOf(log, new BranchChanges(index, nested), recorded);
  const own = { lane, place, line, visit: nextVisitOf(state), nodeId, unresolved, state: recorded };
  return { ...withoutUndefined({ ...own, joined: joinedAt(log, point, recorded), ended: result }), input };
}

function joinedAt(
  log: AgentLog,
  point: CheckpointPoint,
  state: RecordedState,
): ReadonlyMap<string, BranchResult> | undefined {
  const branches = joinedBranches(log.index, point);
  const results = [...(branches ?? [])].map(([key, branch]) => [key, resultOf(log, branch, state)] as const);
  return branches && new Map(results.flatMap(([key, result]) => (result ? [[key, result] as const] : [])));
}

function resultOf(log: AgentLog, branch: BranchChanges, { model = "", tools = [] }: RecordedState) {
  return storedResult((slot) => log.readValue(slot), branch, { settings: { model, tools }, requirements: {} });
}

export function recordedStateAt(log: AgentLog, point: CheckpointPoint): RecordedState {
  const state = stateAt(log.index, point);
  const reader = log.reader(state);
  const { model, parameters, tools } = state.settings ?? {};
  return withoutUndefined({
    messages: state.history.map(({ message }) => reader.message(message)),
    storage: [...state.storage].map(([key, slot]) => [key, reader.read(slot)] as const),
    model,
    parameters: parameters === undefined ? undefined : (reader.read(parameters) as Record<string, unknown>),
    tools,
    iteration: point.record.iteration,
    decisions: state.decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
  });
}
